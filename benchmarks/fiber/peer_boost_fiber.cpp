// SPDX-License-Identifier: Apache-2.0
#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include <thread>

#include "fiber/peers.hpp"
#include "harness.hpp"

namespace bench {

namespace {

/// One pool per thread: it may not be shared.
boost::fibers::pooled_fixedsize_stack& stacks() {
  static thread_local boost::fibers::pooled_fixedsize_stack mine(64 * 1024);
  return mine;
}

long fib(long n) {
  if (n < 2) return n;
  auto first = boost::fibers::async(boost::fibers::launch::post, std::allocator_arg, stacks(), fib,
                                    n - 1);
  const long second = fib(n - 2);
  return first.get() + second;
}

double measured(long n, long& answer) {
  return seconds([&] { answer = boost::fibers::async(fib, n).get(); });
}

}  // namespace

/// In threads of its own, which its schedulers belong to.
double fib_boost_fiber(long n, unsigned workers, long& answer) {
  double took = 0;
  if (workers == 1) {
    std::thread([&] { took = measured(n, answer); }).join();
    return took;
  }
  boost::fibers::mutex mutex;
  boost::fibers::condition_variable_any ended;
  bool is_done = false;
  std::thread other([&] {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(workers, true);
    std::unique_lock hold(mutex);
    ended.wait(hold, [&] { return is_done; });
  });
  std::thread first([&] {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(workers, true);
    took = measured(n, answer);
    const std::unique_lock hold(mutex);
    is_done = true;
    ended.notify_all();
  });
  first.join();
  other.join();
  return took;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
#include <boost/fiber/all.hpp>
#include <boost/fiber/fixedsize_stack.hpp>

#include <thread>

#include "fiber/peers.hpp"
#include "harness.hpp"

namespace bench {

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto first = boost::fibers::async(boost::fibers::launch::post, std::allocator_arg,
                                    boost::fibers::fixedsize_stack(64 * 1024), fib, n - 1);
  const long second = fib(n - 2);
  return first.get() + second;
}

}  // namespace

/// In a thread of its own, which its scheduler belongs to.
double fib_boost_fiber(long n, unsigned, long& answer) {
  double took = 0;
  std::thread([&] { took = seconds([&] { answer = boost::fibers::async(fib, n).get(); }); }).join();
  return took;
}

}  // namespace bench

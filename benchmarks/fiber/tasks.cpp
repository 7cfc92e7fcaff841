// SPDX-License-Identifier: Apache-2.0
/// What a task costs: 100,000 that do nothing, and 100,000 of which each waits for a promise that
/// is kept only once it has parked. Of the peers those that the slides compare with.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cppless/fiber.hpp>

#ifdef BENCH_BOOST_FIBER
#include <boost/fiber/all.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>
#endif

#include "fiber/units.hpp"

namespace {

using namespace bench;
namespace fiber = cppless::fiber;

constexpr int count = 100'000;
constexpr int threads = 2'000;  // a thread costs that much more
/// So many are there at once, and their stacks are used again by the next.
constexpr int batch = 10, many = 100;

using work = long (*)();

long make_futures() {
  std::vector<fiber::future<long>> futures;
  futures.reserve(count);
  for (long i = 0; i < count; ++i) futures.push_back(fiber::async([i] { return i; }));
  long sum = 0;
  for (auto& each : futures) sum += each.get();
  return sum;
}

template <int batch>
long make_futures_in_batches() {
  std::vector<fiber::future<long>> futures;
  long sum = 0;
  for (long i = 0; i < count; ++i) {
    futures.push_back(fiber::async([i] { return i; }));
    if (futures.size() < batch) continue;
    for (auto& each : futures) sum += each.get();
    futures.clear();
  }
  return sum;
}

template <int batch>
long park_and_wake() {
  long sum = 0;
  for (long i = 0; i < count; i += batch) {
    fiber::promise<void> all_wait;
    std::vector<fiber::promise<long>> promises(batch);
    std::vector<fiber::future<long>> futures;
    int waiting = 0;
    for (auto& each : promises) {
      futures.push_back(fiber::async([&, kept = each.get_future()]() mutable {
        if (++waiting == batch) all_wait.set_value();
        return kept.get();
      }));
    }
    auto parked = all_wait.get_future();
    parked.wait();
    for (long k = 0; k < batch; ++k) promises[static_cast<std::size_t>(k)].set_value(i + k);
    for (auto& each : futures) sum += each.get();
  }
  return sum;
}

long make_threads() {
  std::atomic<long> sum{0};
  std::vector<std::thread> all;
  for (long i = 0; i < threads; ++i) {
    all.emplace_back([&sum, i] { sum.fetch_add(i, std::memory_order_relaxed); });
  }
  for (std::thread& each : all) each.join();
  return sum;
}

#ifdef BENCH_BOOST_FIBER
long make_boost_fibers() {
  boost::fibers::pooled_fixedsize_stack stacks(64 * 1024);
  long sum = 0;
  std::vector<boost::fibers::future<long>> futures;
  for (long i = 0; i < count; ++i) {
    futures.push_back(boost::fibers::async(boost::fibers::launch::post, std::allocator_arg, stacks,
                                           [i] { return i; }));
    if (futures.size() < batch) continue;
    for (auto& each : futures) sum += each.get();
    futures.clear();
  }
  return sum;
}

long park_boost_fibers() {
  boost::fibers::pooled_fixedsize_stack stacks(64 * 1024);
  long sum = 0;
  for (long i = 0; i < count; i += batch) {
    std::vector<boost::fibers::promise<long>> promises(batch);
    std::vector<boost::fibers::future<long>> futures;
    for (auto& each : promises) {
      futures.push_back(boost::fibers::async(
          boost::fibers::launch::post, std::allocator_arg, stacks,
          [kept = each.get_future()]() mutable { return kept.get(); }));
    }
    boost::this_fiber::yield();  // all of them come first
    for (long k = 0; k < batch; ++k) promises[static_cast<std::size_t>(k)].set_value(i + k);
    for (auto& each : futures) sum += each.get();
  }
  return sum;
}
#endif

implementation on_worker(std::string name, work function) {
  auto answer = std::make_shared<long>();
  return {std::move(name),
          [=] {
            fiber::runtime runtime(1);
            const double took = seconds([&] { *answer = runtime.run(function); });
            return took * 1e9 / count;
          },
          [=] { return *answer == static_cast<long>(count) * (count - 1) / 2; }};
}

[[maybe_unused]] implementation on_thread(std::string name, work function, long tasks) {
  auto answer = std::make_shared<long>();
  return {std::move(name),
          [=] {
            double took = 0;
            std::thread([&] { took = seconds([&] { *answer = function(); }); }).join();
            return took * 1e9 / static_cast<double>(tasks);
          },
          [=] { return *answer == tasks * (tasks - 1) / 2; }};
}

}  // namespace

int main(int argc, char** argv) {
  suite suite{"fiber_tasks", argc, argv};
  std::vector<implementation> made = {
      on_worker("cppless", make_futures_in_batches<batch>),
      on_worker("cppless, 100,000 futures at once", make_futures),
      on_thread("std::thread", make_threads, threads)};
  std::vector<implementation> parked = {
      on_worker("cppless", park_and_wake<batch>),
      on_worker("cppless, 100 at once", park_and_wake<many>)};
#ifdef BENCH_BOOST_FIBER
  made.push_back(on_thread("Boost.Fiber", make_boost_fibers, count));
  parked.push_back(on_thread("Boost.Fiber", park_boost_fibers, count));
#endif
  suite.compare("create", unit::ns_per_task, "cppless", std::move(made));
  suite.compare("park and wake", unit::ns_per_task, "cppless", std::move(parked));
  return suite.finish();
}

// SPDX-License-Identifier: Apache-2.0
/// Fibers that wait for tasks of worker processes, all at once on one thread: what each takes of
/// memory, and how long all take beside a thread that asks for the results in their order. And what
/// a task costs that is dispatched to fibers, beside one that runs inline, and one that is sent away.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>
#include <cppless/fiber.hpp>

#include "fiber/memory.hpp"
#include "fiber/units.hpp"

namespace {

using namespace bench;
namespace fiber = cppless::fiber;

int next_of(int x) { return x + 1; }
std::size_t length_of(const std::vector<std::string>& texts) {
  std::size_t sum = 0;
  for (const std::string& each : texts) sum += each.size();
  return sum;
}
void wait_for_file(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

constexpr int waiting_count = 10'000;

std::vector<cppless::future<int>> start_all(cppless::instance& on) {
  std::vector<cppless::future<int>> futures;
  futures.reserve(waiting_count);
  for (int i = 0; i < waiting_count; ++i) {
    futures.push_back(cppless::async(on, cppless::fn<&next_of>, i));
  }
  return futures;
}

bool is_right(long sum) { return sum == long{waiting_count} * (waiting_count + 1) / 2; }

long by_fibers(cppless::instance& on) {
  auto futures = start_all(on);
  std::vector<fiber::future<int>> fibers;
  fibers.reserve(futures.size());
  for (auto& each : futures) fibers.push_back(fiber::async([&each] { return each.get(); }));
  long sum = 0;
  for (auto& each : fibers) sum += each.get();
  return sum;
}

long in_order(cppless::instance& on) {
  long sum = 0;
  for (auto& each : start_all(on)) sum += each.get();
  return sum;
}

/// Bytes per fiber while all of them wait and no result is in.
double memory_of_waiting(cppless::instance& on, bool& right) {
  const std::string gate = std::filesystem::temp_directory_path() /
                           ("cppless-bench-gate-" + std::to_string(::getpid()));
  std::vector<cppless::future<void>> gate_keepers;
  for (int i = 0; i < 2; ++i) {
    gate_keepers.push_back(cppless::async(on, cppless::fn<&wait_for_file>, gate));
  }
  auto futures = start_all(on);
  std::vector<fiber::future<int>> fibers;
  fibers.reserve(futures.size());
  int waiting = 0;
  double after = 0;
  const double before = resident_bytes();
  for (auto& each : futures) {
    fibers.push_back(fiber::async([&] {
      if (++waiting == waiting_count) {
        after = resident_bytes();
        std::ofstream(gate) << "open";
      }
      return each.get();
    }));
  }
  long sum = 0;
  for (auto& each : fibers) sum += each.get();
  for (auto& each : gate_keepers) each.get();
  std::filesystem::remove(gate);
  right = is_right(sum);
  return (after - before) / waiting_count;
}

template <class Task, class... Args>
auto many(cppless::instance& on, std::size_t& seen, int count, Task task, const Args&... arguments) {
  return [&on, &seen, count, task, arguments...] {
    return seconds([&] {
             std::vector<cppless::future<std::size_t>> futures;
             for (int i = 0; i < count; ++i) {
               futures.push_back(cppless::async(on, task, arguments...));
             }
             seen = 0;
             for (auto& each : futures) seen += each.get();
           }) * 1e9 / count;
  };
}

std::size_t one() { return 1; }

void compare_dispatchers(suite& all, cppless::instance& local) {
  constexpr int count = 10'000;
  auto fibers = cppless::fiber_dispatcher().create_instance();
  auto bytes = cppless::fiber_dispatcher(
                   {.values = cppless::fiber_dispatcher::values::serialised}).create_instance();
  auto in_line = cppless::inline_dispatcher().create_instance();
  std::size_t seen = 0;
  const auto compare = [&](const char* name, std::size_t expected, auto task, const auto&... as) {
    const auto check = [&] { return seen == expected * count; };
    all.compare(name, unit::ns_per_task, "inline",
                {{"inline", many(in_line, seen, count, task, as...), check},
                 {"fiber", many(fibers, seen, count, task, as...), check},
                 {"fiber, serialised", many(bytes, seen, count, task, as...), check},
                 {"local", many(local, seen, count, task, as...), check}});
  };
  compare("dispatch/empty", 1, cppless::fn<&one>);
  compare("dispatch/100 strings", 100 * 40, cppless::fn<&length_of>,
          std::vector<std::string>(100, std::string(40, 'x')));
}

}  // namespace

int main(int argc, char** argv) {
  suite suite{"fiber_remote", argc, argv};
  auto local = cppless::local_dispatcher({.workers = 2}).create_instance();
  cppless::async(local, cppless::fn<&next_of>, 1).get();
  {
    fiber::runtime one_worker(1);
    one_worker.run([&] {
      if (suite.wants("ten thousand wait")) {
        bool right = false;
        const double each = memory_of_waiting(local, right);
        suite.record("ten thousand wait", "memory", unit::bytes_per_task, {each}, right);
      }
      long sum = 0;
      const auto check = [&] { return is_right(sum); };
      const auto timed = [&](long (*work)(cppless::instance&)) {
        return [&, work] { return seconds([&] { sum = work(local); }) * 1e6 / waiting_count; };
      };
      suite.compare("ten thousand results", unit::us_per_call, "one waits in order",
                    {{"one waits in order", timed(&in_order), check},
                     {"a fiber each", timed(&by_fibers), check}});
    });
  }
  compare_dispatchers(suite, local);
  return suite.finish();
}

// SPDX-License-Identifier: Apache-2.0
/// For gdb_test.py: fibers that wait in functions with known names, and then a breakpoint.

#include <cstdlib>

#include <cppless/fiber.hpp>

namespace fiber = cppless::fiber;

namespace {

fiber::latch gate(1), parked(3);

struct waits_for_the_gate {
  [[gnu::noinline]] void operator()() const {
    parked.count_down();
    gate.wait();
    asm volatile("");  // not a tail call
  }
};

[[gnu::noinline]] void waits_deeper(fiber::mutex& mutex, int depth) {
  if (depth > 0) {
    waits_deeper(mutex, depth - 1);
  } else {
    parked.count_down();
    mutex.lock();
    mutex.unlock();
  }
  asm volatile("");
}

}  // namespace

extern "C" [[gnu::noinline]] void all_are_parked() { asm volatile(""); }

/// With any argument it ends there, for a core.
int main(int argc, char**) {
  fiber::runtime run(1);
  fiber::mutex mutex;
  mutex.lock();
  auto one = fiber::async(waits_for_the_gate{});
  auto two = fiber::async(waits_for_the_gate{});
  auto deep = fiber::async([&mutex] { waits_deeper(mutex, 3); });
  parked.wait();
  // The one worker comes here once they all have parked.
  run.run([argc] {
    all_are_parked();
    if (argc > 1) std::abort();
  });
  gate.count_down();
  mutex.unlock();
  one.get();
  two.get();
  deep.get();
}

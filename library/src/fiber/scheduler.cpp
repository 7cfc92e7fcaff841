// SPDX-License-Identifier: Apache-2.0
#include "fiber/scheduler.hpp"

#include <cxxabi.h>

#include <utility>

#include "fiber/sanitizers.hpp"
#include "fiber/switch.hpp"

extern "C" [[noreturn]] void cppless_fiber_main() {
  using namespace cppless::fiber::detail;
  // Its own frame must not hold what `arrive` finds: it is another thread's next time.
  scheduler* const of = this_processor().of;
  scheduler::arrive(of->starting());
  of->loop();
}

namespace cppless::fiber::detail {

namespace {

// What the C++ runtime keeps per thread. Not inline: `__cxa_get_globals` is declared as constant,
// and the compiler would reuse its result on another thread.
[[gnu::noinline]] void leave_exceptions(fiber_record& of) noexcept {
  const auto* const globals = reinterpret_cast<void**>(abi::__cxa_get_globals());
  of.caught_exceptions = globals[0];
  of.uncaught_exceptions = *reinterpret_cast<const unsigned int*>(globals + 1);
}

[[gnu::noinline]] void enter_exceptions(const fiber_record& of) noexcept {
  auto* const globals = reinterpret_cast<void**>(abi::__cxa_get_globals());
  globals[0] = of.caught_exceptions;
  *reinterpret_cast<unsigned int*>(globals + 1) = of.uncaught_exceptions;
}

/// Below it no task is called in place but gets a stack of its own.
std::uintptr_t lowest_for_tasks(const fiber_record& stack) noexcept {
  return reinterpret_cast<std::uintptr_t>(stack.low) +
         static_cast<std::uintptr_t>(stack.high - stack.low) / 2;
}

}  // namespace

[[gnu::noinline]] void scheduler::switch_to(processor& self, fiber_record& to,
                                            departure how) noexcept {
  fiber_record& here = how.left != nullptr ? *how.left : self.native;
  here.current = self.current;
  leave_exceptions(here);
  self.departed = how;
  self.origin = &here;
  self.arriving = &to;
  before_switch(here, to, how.how == departure::kind::released);
  switch_stack(here.stack_pointer, to.stack_pointer);
  arrive(here);
}

/// Not inline: the thread is another one than before the switch.
[[gnu::noinline]] void scheduler::arrive(fiber_record& here) noexcept {
  processor& self = this_processor();
  after_switch(here, *self.origin);
  enter_exceptions(here);
  self.current = here.current;
  self.fiber = &here == &self.native ? nullptr : &here;
  here.state = fiber_record::active;
  const bool by_seed = self.of->options_.deterministic;
  self.stack_low = by_seed ? UINTPTR_MAX : lowest_for_tasks(here);
  const departure left = std::exchange(self.departed, {});
  switch (left.how) {
    case departure::kind::none:
      break;
    case departure::kind::released:
      self.of->release_stack(self, *left.left);
      break;
    case departure::kind::parked:
      left.left->state = fiber_record::is_parked;
      // From here on it may go on elsewhere.
      if (!left.on->commit_to(waiter::fiber_parked)) self.of->resume(*left.left);
      break;
    case departure::kind::yielded:
      self.has_yielded = true;
      self.of->resume(*left.left);
      break;
  }
}

fiber_record& scheduler::starting() noexcept { return *this_processor().arriving; }

fiber_record& scheduler::fresh_stack(processor& self) noexcept {
  if (self.spare == nullptr) return stacks_->acquire();
  fiber_record& taken = *self.spare;
  self.spare = taken.next;
  --self.spares;
  rewind(taken);
  return taken;
}

void scheduler::release_stack(processor& self, fiber_record& unused) noexcept {
  constexpr unsigned most_spares = 32;
  if (self.spares >= most_spares) {
    stacks_->release(unused);
    return;
  }
  unused.state = fiber_record::unused;
  unused.next = self.spare;
  self.spare = &unused;
  ++self.spares;
}

void scheduler::park(processor& self, waiter& on) noexcept {
  fiber_record& here = *self.fiber;
  fiber_record* next = nullptr;
  if (!options_.deterministic && ++self.turn % fair_turn != 0) next = self.ready.pop();
  if (next == nullptr) next = &fresh_stack(self);
  switch_to(self, *next, {departure::kind::parked, &here, &on});
}

void scheduler::yield(processor& self) noexcept {
  switch_to(self, fresh_stack(self), {departure::kind::yielded, self.fiber});
}

void scheduler::loop() noexcept {
  for (;;) {
    processor& self = this_processor();  // tasks come back on other threads
    const work next = find_work(self);
    if (next.made != nullptr) {
      self.current = next.made;
      next.made->kind->execute(*next.made);
      this_processor().current = nullptr;
      continue;
    }
    fiber_record& to = next.woken != nullptr ? *next.woken : self.native;
    switch_to(self, to, {departure::kind::released, self.fiber});
  }
}

void scheduler::resume(fiber_record& woken) noexcept {
  processor* const self = static_cast<processor*>(current());
  if (self != nullptr && self->of == this) {
    self->ready.push(woken);
  } else {
    injected_fibers_.push(woken);
  }
  work_is_visible();
}

}  // namespace cppless::fiber::detail

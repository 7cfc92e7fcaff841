// SPDX-License-Identifier: Apache-2.0
#include "fiber/scheduler.hpp"

#include <utility>

#include "fiber/sanitizers.hpp"
#include "fiber/switching.hpp"

extern "C" [[noreturn]] void cppless_fiber_main() {
  using namespace cppless::fiber::detail;
  // Its own frame must not hold what `arrive` finds: it is another thread's next time.
  scheduler* const of = this_processor().of;
  scheduler::arrive(of->starting());
  of->loop();
}

namespace cppless::fiber::detail {

namespace {

/// Below it no task is called in place but gets a stack of its own.
std::uintptr_t lowest_for_tasks(const fiber_record& stack) noexcept {
  return reinterpret_cast<std::uintptr_t>(stack.low) +
         static_cast<std::uintptr_t>(stack.high - stack.low) / 2;
}

}  // namespace

/// Not inline: the thread is another one than before the switch.
[[gnu::noinline]] void scheduler::arrive(fiber_record& here) noexcept {
  processor& self = this_processor();
  after_switch(here, *self.origin);
  self.exceptions->caught = here.exceptions.caught;
  self.exceptions->uncaught = here.exceptions.uncaught;
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/sanitizers.hpp"
#include "fiber/scheduler.hpp"
#include "fiber/switch.hpp"

namespace cppless::fiber::detail {

// Inline, all the way up to what waits: when a fiber goes on, the processor's prediction knows none
// of the returns that are still to come on its stack, and each that is not there costs nothing.

[[gnu::always_inline]] inline void scheduler::switch_to(processor& self, fiber_record& to,
                                                        departure how) noexcept {
  fiber_record& here = how.left != nullptr ? *how.left : self.native;
  here.current = self.current;
  here.exceptions = *self.exceptions;
  self.departed = how;
  self.origin = &here;
  self.arriving = &to;
  before_switch(here, to, how.how == departure::kind::released);
  switch_stack(here.stack_pointer, to.stack_pointer);
  arrive(here);
}

inline fiber_record& scheduler::fresh_stack(processor& self) noexcept {
  if (self.spare == nullptr) return stacks_->acquire();
  fiber_record& taken = *self.spare;
  self.spare = taken.next;
  --self.spares;
  rewind(taken);
  return taken;
}

[[gnu::always_inline]] inline void scheduler::park(processor& self, waiter& on) noexcept {
  fiber_record& here = *self.fiber;
  fiber_record* next = nullptr;
  if (!options_.deterministic && ++self.turn % fair_turn != 0) next = self.ready.pop();
  if (next == nullptr) next = &fresh_stack(self);
  switch_to(self, *next, {departure::kind::parked, &here, &on});
}

}  // namespace cppless::fiber::detail

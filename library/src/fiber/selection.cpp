// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/selection.hpp>

#include <vector>

namespace cppless::fiber::detail {
namespace {

constexpr std::size_t gave_up = none_selected - 1;

/// Waits until a case can be done, and returns which; somebody else may be faster. `none_selected`
/// if time or patience ran out.
std::size_t wait_for_one(std::span<select_case* const> cases, std::span<ticket> tickets,
                         time_point deadline, const std::stop_token& stop) {
  selection mine;
  std::size_t listed = 0;
  bool is_woken = true;
  for (; listed < cases.size(); ++listed) {
    tickets[listed] = {&mine, listed};
    if (!cases[listed]->enlist(tickets[listed])) {
      // It can be done now: nobody will wake us for it, but may have begun to for another.
      is_woken = !mine.claim(listed);
      break;
    }
  }
  if (is_woken && !mine.who.wait_until(deadline, stop) && !mine.claim(gave_up)) mine.who.wait();
  for (std::size_t i = 0; i < listed; ++i) cases[i]->delist(tickets[i]);
  return mine.chosen() == gave_up ? none_selected : mine.chosen();
}

}  // namespace

void ticket_queue::push_back(ticket& added) noexcept {
  added.previous = last_;
  added.is_queued = true;
  (last_ != nullptr ? last_->next : first_) = &added;
  last_ = &added;
}

void ticket_queue::remove(ticket& left) noexcept {
  if (!left.is_queued) return;
  (left.previous != nullptr ? left.previous->next : first_) = left.next;
  (left.next != nullptr ? left.next->previous : last_) = left.previous;
  left.is_queued = false;
}

waiter* ticket_queue::claim_first() noexcept {
  while (ticket* const first = first_) {
    remove(*first);
    if (first->of->claim(first->index)) return &first->of->who;
  }
  return nullptr;
}

std::size_t select(std::span<select_case* const> cases, time_point deadline,
                   const std::stop_token& stop) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i]->attempt()) return i;
  }
  if (deadline == time_point::min()) return none_selected;
  std::vector<ticket> tickets(cases.size());
  for (;;) {
    const std::size_t possible = wait_for_one(cases, tickets, deadline, stop);
    // First of all what we were woken for: if we do something else, nobody else is woken for it.
    if (possible == none_selected || cases[possible]->attempt()) return possible;
  }
}

}  // namespace cppless::fiber::detail

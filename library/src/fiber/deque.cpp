// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/deque.hpp>

#include <cstddef>
#include <memory>

#include <cppless/detail/fiber/worker.hpp>

namespace cppless::fiber::detail {

/// Grown rings are kept: a thief may still read the old one. They add up to no more than the
/// newest.
struct task_deque::ring {
  ring(deque_index capacity, std::unique_ptr<ring> before)
      : mask(capacity - 1),
        slots(std::make_unique<std::atomic<task*>[]>(static_cast<std::size_t>(capacity))),
        previous(std::move(before)) {}

  const deque_index mask;
  const std::unique_ptr<std::atomic<task*>[]> slots;
  const std::unique_ptr<ring> previous;
};

task_deque::task_deque() {
  constexpr deque_index first_capacity = 256;
  ring* const first = new ring(first_capacity, nullptr);
  slots_ = first->slots.get();
  mask_ = first->mask;
  full_at_ = first_capacity;
  ring_.store(first, std::memory_order_relaxed);
}

task_deque::~task_deque() { delete ring_.load(std::memory_order_relaxed); }

void task_deque::make_room() noexcept {
  const deque_index top = top_.load(std::memory_order_acquire);
  const deque_index bottom = bottom_.load(std::memory_order_relaxed);
  ring* const old = ring_.load(std::memory_order_relaxed);
  if (bottom - top > mask_ / 2) {
    ring* const grown = new ring(2 * (mask_ + 1), std::unique_ptr<ring>(old));
    for (deque_index index = top; index < bottom; ++index) {
      grown->slots[index & grown->mask].store(slot(index).load(std::memory_order_relaxed),
                                              std::memory_order_relaxed);
    }
    slots_ = grown->slots.get();
    mask_ = grown->mask;
    ring_.store(grown, std::memory_order_release);
  }
  full_at_ = top + mask_ + 1;
}

/// `take` has lowered bottom to `index`, so that everything from there to `last` is the owner's but
/// for `index` itself, if top has come that far.
bool task_deque::take_or_restore(deque_index index, deque_index last) noexcept {
  deque_index top = top_.load(std::memory_order_acquire);
  if (top < index) {  // the last one moves into the gap
    task* const moved = slot(last).load(std::memory_order_relaxed);
    slot(index).store(moved, std::memory_order_relaxed);
    moved->index.store(index, std::memory_order_relaxed);
    bottom_.store(last, std::memory_order_release);
    work_is_visible();  // somebody may have looked, and gone to sleep, while bottom was low
    return true;
  }
  const bool won = top == index && top_.compare_exchange_strong(top, top + 1,
                                                                std::memory_order_seq_cst);
  bottom_.store(last + 1, std::memory_order_release);
  if (index != last) work_is_visible();
  return won;
}

task* task_deque::at(deque_index distance) const noexcept {
  const deque_index index = bottom_.load(std::memory_order_relaxed) - 1 - distance;
  return index >= top_.load(std::memory_order_acquire)
             ? slot(index).load(std::memory_order_relaxed)
             : nullptr;
}

task* task_deque::pop() noexcept {
  const deque_index last = bottom_.load(std::memory_order_relaxed) - 1;
  bottom_.store(last, std::memory_order_relaxed);
  owner_fence();
  task* const pushed_last = slot(last).load(std::memory_order_relaxed);
  if (top_.load(std::memory_order_relaxed) < last) return pushed_last;
  return take_or_restore(last, last) ? pushed_last : nullptr;
}

task* task_deque::steal(deque_index seen_top) noexcept {
  if (seen_top >= bottom_.load(std::memory_order_seq_cst)) return nullptr;
  const ring& entries = *ring_.load(std::memory_order_acquire);
  task* const first = entries.slots[seen_top & entries.mask].load(std::memory_order_relaxed);
  return top_.compare_exchange_strong(seen_top, seen_top + 1, std::memory_order_seq_cst) ? first
                                                                                         : nullptr;
}

}  // namespace cppless::fiber::detail

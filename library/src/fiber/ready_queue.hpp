// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "fiber/stacks.hpp"

namespace cppless::fiber::detail {

/// Fibers that may go on, in the order they were woken. Thread-safe.
class ready_queue {
 public:
  void push(fiber_record& woken) noexcept {
    const std::lock_guard hold(lock_);
    woken.state = fiber_record::ready;
    woken.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &woken;
    last_ = &woken;
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  fiber_record* pop() noexcept {
    if (empty()) return nullptr;
    const std::lock_guard hold(lock_);
    fiber_record* const taken = first_;
    if (taken == nullptr) return nullptr;
    first_ = taken->next;
    if (first_ == nullptr) last_ = nullptr;
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return taken;
  }

  bool empty() const noexcept { return size() == 0; }
  std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// How many have been taken: if it stands still, nobody comes for those that are there.
  std::uint32_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

 private:
  spin_lock lock_;
  std::atomic<std::uint32_t> size_{0}, taken_{0};
  fiber_record* first_ = nullptr;
  fiber_record* last_ = nullptr;
};

}  // namespace cppless::fiber::detail

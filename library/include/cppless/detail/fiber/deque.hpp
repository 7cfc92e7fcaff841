// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace cppless::fiber::detail {

struct task;

/// The position of a task in the deque it was pushed to; only a hint where the task is elsewhere.
using deque_index = std::int64_t;

/// The tasks that one thread has made and nobody has begun.
///
/// Thread safety: `push`, `take`, `at` and `pop` by the owner only; `peek` and `steal` by anybody.
/// Invariants: (1) Entries [top, bottom) are there. (2) A thief moves top up by compare-and-swap.
/// (3) The owner lowers bottom first and looks at top afterwards; a thief looks at top first and at
/// bottom afterwards: so of two that want the same entry one sees the other. (4) The barrier that
/// (3) needs on both sides is paid by thieves alone (`heavy_fence`): the owner, which comes by
/// millions of times more often, has but to keep the compiler from reordering.
class task_deque {
 public:
  task_deque();
  ~task_deque();
  task_deque(const task_deque&) = delete;
  task_deque& operator=(const task_deque&) = delete;

  inline void push(task& pushed) noexcept;

  /// Takes this very task out, wherever it lies. False if it is not here: somebody has begun it, or
  /// it was pushed elsewhere.
  inline bool take(task& wanted) noexcept;

  /// The task at a distance from the one pushed last, or null if there are fewer. Owner only; it
  /// may be stolen at any time.
  task* at(deque_index distance) const noexcept;

  /// The task pushed last, or null.
  task* pop() noexcept;

  /// The task pushed first, or null if there is none or somebody else was quicker. The caller has
  /// called `heavy_fence` since it last saw that the deque does not seem empty, or is the owner.
  task* steal(deque_index seen_top) noexcept;

  struct look {
    deque_index top;
    bool empty;
  };
  /// What a thief sees without a barrier.
  look peek() const noexcept {
    const deque_index top = top_.load(std::memory_order_seq_cst);
    return {top, top >= bottom_.load(std::memory_order_seq_cst)};
  }

 private:
  struct ring;

  std::atomic<task*>& slot(deque_index index) const noexcept { return slots_[index & mask_]; }
  bool take_or_restore(deque_index index, deque_index last) noexcept;
  void make_room() noexcept;

  // The owner's line.
  alignas(64) std::atomic<deque_index> bottom_{0};
  std::atomic<task*>* slots_;  // of ring_
  deque_index mask_;
  deque_index full_at_;  // bottom may grow up to here before the owner looks at top again
  // What thieves write and read.
  alignas(64) std::atomic<deque_index> top_{0};
  std::atomic<ring*> ring_;
};

/// Set once at the start where the kernel offers no membarrier(2): owners then pay as well.
inline constinit std::atomic<bool> owners_need_fences{false};

inline void owner_fence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (owners_need_fences.load(std::memory_order_relaxed)) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace cppless::fiber::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cppless/detail/fiber/task.hpp>
#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// What the C++ runtime keeps per thread, as its ABI lays it out, and has to go with the fiber.
struct exceptions_in_flight {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

/// A stack and what is needed to go on with it. Lies at the stack's own upper end, so that a parked
/// fiber whose frames are small costs one page.
struct fiber_record {
  enum status : std::uint64_t { unused, active, is_parked, ready };

  void* stack_pointer = nullptr;
  std::uint64_t state = unused;
  task* current = nullptr;     // its innermost task
  std::byte* low = nullptr;    // the lowest usable byte
  std::byte* high = nullptr;   // the end of the stack, where this record begins
  fiber_record* next = nullptr;
  exceptions_in_flight exceptions;
  void* tsan_fiber = nullptr;
  void* asan_fake_stack = nullptr;
  fiber_record* next_known = nullptr;  // for debuggers
};

/// Stacks of one size, each with a guard page below. Thread-safe.
class stack_pool {
 public:
  /// Rounds up to whole pages. Throws `rejected` below 16 KiB.
  explicit stack_pool(std::size_t stack_size);
  ~stack_pool();

  /// One that nobody uses, ready to begin at `cppless_fiber_start`. Throws `rejected` if the system
  /// gives no more memory.
  fiber_record& acquire();
  void release(fiber_record& stack) noexcept;

  /// Acquired and not released.
  std::size_t in_use() noexcept;
  std::size_t stack_size() const noexcept;
  std::size_t guard_size() const noexcept { return page_; }

  /// For debuggers: the first of all stacks, which hang together by `next_known`.
  fiber_record* const& known() const noexcept { return known_; }

 private:
  static constexpr std::size_t per_slab = 64;

  std::byte* record_place(std::byte* slab, std::size_t index) const noexcept;
  fiber_record& next_of_slab();
  void protect(std::byte* page);

  const std::size_t page_;
  const std::size_t size_;
  spin_lock lock_;
  fiber_record* free_ = nullptr;
  fiber_record* known_ = nullptr;  // all there are
  std::vector<std::byte*> slabs_;
  std::size_t used_of_last_ = per_slab;
  std::size_t in_use_ = 0;
  std::size_t kept_ = 0;  // free ones that keep their memory
};

/// Makes a stack begin anew, whatever was on it.
void rewind(fiber_record& stack) noexcept;

}  // namespace cppless::fiber::detail

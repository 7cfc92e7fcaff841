// SPDX-License-Identifier: Apache-2.0
#include "fiber/stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <cppless/errors.hpp>

#include "base/system_call.hpp"
#include "fiber/sanitizers.hpp"
#include "fiber/switch.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102  // Linux 6.13
#endif

namespace cppless::fiber::detail {

namespace {

constexpr std::size_t smallest = 16384;
/// Beyond so many, free stacks give their memory back.
constexpr std::size_t most_kept = 4096;

std::size_t rounded_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

stack_pool::stack_pool(std::size_t stack_size)
    : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      size_(rounded_up(stack_size * frame_growth, page_)) {
  if (stack_size < smallest) {
    throw rejected("a fiber's stack of " + std::to_string(stack_size) +
                   " bytes is too small, the least is " + std::to_string(smallest));
  }
}

stack_pool::~stack_pool() {
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    const std::size_t used = i + 1 == slabs_.size() ? used_of_last_ : per_slab;
    for (std::size_t k = 0; k < used; ++k) {
      tsan_destroy(*reinterpret_cast<fiber_record*>(record_place(slabs_[i], k)));
    }
    ::munmap(slabs_[i], per_slab * (page_ + size_));
  }
}

std::size_t stack_pool::stack_size() const noexcept { return size_ / frame_growth; }

/// Not at the same place in its page for all stacks: their upmost lines would share a few sets of
/// the cache. But so that the frames of a fiber that soon parks are in the record's page.
std::byte* stack_pool::record_place(std::byte* slab, std::size_t index) const noexcept {
  constexpr std::size_t places = 16, apart = 128;
  return slab + (index + 1) * (page_ + size_) - rounded_up(sizeof(fiber_record), 64) -
         index % places * apart;
}

fiber_record& stack_pool::acquire() {
  fiber_record* taken = nullptr;
  {
    const std::lock_guard hold(lock_);
    if (free_ != nullptr) {
      taken = free_;
      free_ = taken->next;
      if (kept_ > 0) --kept_;
    } else {
      taken = &next_of_slab();
    }
    ++in_use_;
  }
  rewind(*taken);
  return *taken;
}

void stack_pool::release(fiber_record& stack) noexcept {
  stack.state = fiber_record::unused;
  const std::lock_guard hold(lock_);
  --in_use_;
  if (kept_ >= most_kept) {
    // All but the page of the record, through which the free ones hang together.
    ::madvise(stack.low, static_cast<std::size_t>(stack.high - stack.low) / page_ * page_,
              MADV_DONTNEED);
  } else {
    ++kept_;
  }
  stack.next = free_;
  free_ = &stack;
}

std::size_t stack_pool::in_use() noexcept {
  const std::lock_guard hold(lock_);
  return in_use_;
}

/// Of the newest slab, or of a new one.
fiber_record& stack_pool::next_of_slab() {
  const std::size_t stride = page_ + size_;
  if (used_of_last_ == per_slab) {
    void* const slab = ::mmap(nullptr, per_slab * stride, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) {
      cppless::detail::check_system_call(-1, "mmap", std::to_string(per_slab) +
                                                         " fiber stacks of " +
                                                         std::to_string(size_) + " bytes");
    }
    ::madvise(slab, per_slab * stride, MADV_NOHUGEPAGE);  // a page per parked fiber, not 2 MiB
    slabs_.push_back(static_cast<std::byte*>(slab));
    used_of_last_ = 0;
  }
  std::byte* const begin = slabs_.back() + used_of_last_ * stride;
  protect(begin);
  std::byte* const high = record_place(slabs_.back(), used_of_last_++);
  fiber_record* const made = new (high) fiber_record;
  made->low = begin + page_;
  made->high = high;
  made->next_known = std::exchange(known_, made);
  return *made;
}

/// Without mprotect where the kernel can: that makes two mappings of one, and a process may have
/// only 65,530.
void stack_pool::protect(std::byte* page) {
  if (::madvise(page, page_, MADV_GUARD_INSTALL) != 0) {
    cppless::detail::check_system_call(::mprotect(page, page_, PROT_NONE), "mprotect",
                                       "guard page of a fiber's stack");
  }
}

void rewind(fiber_record& stack) noexcept {
  asan_forget(stack);
  tsan_renew(stack);
  stack.current = nullptr;
  stack.exceptions = {};
  stack.stack_pointer = new_stack(stack.high);
}

}  // namespace cppless::fiber::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/stacks.hpp"

// What AddressSanitizer and ThreadSanitizer have to be told of stacks. Nothing, where they are off.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CPPLESS_FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CPPLESS_FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CPPLESS_FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define CPPLESS_FIBER_TSAN 1
#endif

#if defined(CPPLESS_FIBER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CPPLESS_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace cppless::fiber::detail {

/// How much larger frames are: AddressSanitizer keeps room around each variable.
#if defined(CPPLESS_FIBER_ASAN)
inline constexpr std::size_t frame_growth = 4;
#else
inline constexpr std::size_t frame_growth = 1;
#endif

inline void asan_forget([[maybe_unused]] fiber_record& stack) noexcept {
#if defined(CPPLESS_FIBER_ASAN)
  __asan_unpoison_memory_region(stack.low, static_cast<std::size_t>(stack.high - stack.low));
#endif
}

inline void tsan_destroy([[maybe_unused]] fiber_record& stack) noexcept {
#if defined(CPPLESS_FIBER_TSAN)
  if (stack.tsan_fiber != nullptr) __tsan_destroy_fiber(stack.tsan_fiber);
#endif
}

/// For a stack that begins anew: the calls that it was left in count no longer.
inline void tsan_renew([[maybe_unused]] fiber_record& stack) noexcept {
#if defined(CPPLESS_FIBER_TSAN)
  tsan_destroy(stack);
  stack.tsan_fiber = __tsan_create_fiber(0);
#endif
}

/// For a thread's own stack.
inline void adopt_thread_stack([[maybe_unused]] fiber_record& stack) noexcept {
#if defined(CPPLESS_FIBER_TSAN)
  stack.tsan_fiber = __tsan_get_current_fiber();
#endif
}

/// Right before the switch. `for_good`: nobody comes back to `from` as it is. Inline also without
/// optimisation: ThreadSanitizer takes the return from a call here for one on the other stack.
[[gnu::always_inline]] inline void before_switch([[maybe_unused]] fiber_record& from,
                                                 [[maybe_unused]] fiber_record& to,
                                                 [[maybe_unused]] bool for_good) noexcept {
#if defined(CPPLESS_FIBER_ASAN)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &from.asan_fake_stack, to.low,
                                 static_cast<std::size_t>(to.high - to.low));
#endif
#if defined(CPPLESS_FIBER_TSAN)
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

/// Right after it. `origin`: where it came from, whose bounds only the sanitizer knows if that is a
/// thread's own stack.
inline void after_switch([[maybe_unused]] fiber_record& here,
                         [[maybe_unused]] fiber_record& origin) noexcept {
#if defined(CPPLESS_FIBER_ASAN)
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(here.asan_fake_stack, &bottom, &size);
  here.asan_fake_stack = nullptr;
  if (origin.low == nullptr) {
    origin.low = static_cast<std::byte*>(const_cast<void*>(bottom));
    origin.high = origin.low + size;
  }
#endif
}

}  // namespace cppless::fiber::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/function_task.hpp>

namespace cppless::fiber {

namespace detail {

bool is_on_fiber() noexcept;
/// Runs it on a thread made for such calls. Throws if no thread can be had; then it was not taken.
void run_on_helper(task& made);

}  // namespace detail

/// Calls `function()`, which blocks its thread (reads a file, waits for a process), without loss of
/// a core: on a thread of its own, while the fiber parks. Returns or throws what it does. Threads
/// are kept for later calls. On a plain thread it is just called. Costs: two wake-ups, some tens of
/// microseconds.
template <class F>
std::invoke_result_t<F&> blocking(F&& function) {
  if (!detail::is_on_fiber()) return function();
  auto& made = detail::make_task(*detail::current(),
                                 [&function]() -> decltype(auto) { return function(); });
  try {
    detail::run_on_helper(made);
  } catch (...) {
    detail::release_task(made);
    throw;
  }
  return detail::finish_and_take(made);
}

}  // namespace cppless::fiber

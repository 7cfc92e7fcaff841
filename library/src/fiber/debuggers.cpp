// SPDX-License-Identifier: Apache-2.0
#include "fiber/debuggers.hpp"

#include <cstddef>
#include <cstdint>

#include <cppless/detail/fiber/task.hpp>

namespace {

using cppless::fiber::detail::fiber_record;
using cppless::fiber::detail::task;
using cppless::fiber::detail::task_kind;

/// Where things lie, for tools/gdb/cppless_fibers.py, which has the same fields in the same order:
/// release builds come without debugging information. A change of its fields is a new version.
struct layout {
  std::uint32_t version = 1;
  std::uint32_t next_known = offsetof(fiber_record, next_known);
  std::uint32_t stack_pointer = offsetof(fiber_record, stack_pointer);
  std::uint32_t state = offsetof(fiber_record, state);
  std::uint32_t current = offsetof(fiber_record, current);
  std::uint32_t low = offsetof(fiber_record, low);
  std::uint32_t high = offsetof(fiber_record, high);
  std::uint32_t kind_of_task = offsetof(task, kind);
  std::uint32_t name_of_kind = offsetof(task_kind, name);
  std::uint32_t unused = 0;
  fiber_record* const* first = nullptr;
};

}  // namespace

// Found by its name; nothing refers to it that a linker must not drop.
extern "C" {
[[gnu::used, gnu::visibility("default")]] constinit layout cppless_fiber_layout;
}

namespace cppless::fiber::detail {

void show_debuggers(fiber_record* const* first) noexcept { cppless_fiber_layout.first = first; }

}  // namespace cppless::fiber::detail

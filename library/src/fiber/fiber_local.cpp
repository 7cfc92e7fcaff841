// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/fiber_local.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {
namespace {

struct local_value {
  std::uint64_t key;
  void* value;
  void (*destroy)(void*) noexcept;
};

using local_values = std::vector<local_value>;

/// The last first; its destructor may use those that were made before, and make new ones.
void destroy_all(void* data) noexcept {
  const std::unique_ptr<local_values> values(static_cast<local_values*>(data));
  current_local_slot() = {data, &destroy_all};
  while (!values->empty()) {
    const local_value last = values->back();
    values->pop_back();
    last.destroy(last.value);
  }
  current_local_slot() = {};
}

}  // namespace

std::uint64_t new_local_key() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void* find_local(std::uint64_t key) {
  const auto* const values = static_cast<const local_values*>(current_local_slot().data);
  if (values == nullptr) return nullptr;
  const auto found = std::find_if(values->begin(), values->end(),
                                  [key](const local_value& each) { return each.key == key; });
  return found == values->end() ? nullptr : found->value;
}

void add_local(std::uint64_t key, void* value, void (*destroy)(void*) noexcept) {
  local_slot& slot = current_local_slot();
  if (slot.data == nullptr) slot = {new local_values, &destroy_all};
  static_cast<local_values*>(slot.data)->push_back({key, value, destroy});
}

}  // namespace cppless::fiber::detail

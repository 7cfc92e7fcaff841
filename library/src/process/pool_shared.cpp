// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "process/pool.hpp"

/// Shared values lie beside the requests, where all workers read them.

namespace cppless::detail {

std::optional<shared_place> pool::place_shared(const std::shared_ptr<const shared_bytes>& value) {
  const auto find = [&]() -> std::optional<shared_place> {
    const auto known = shared_.find(value->key);
    if (known == shared_.end()) return std::nullopt;
    auto owner = known->second.owner.lock();
    if (owner == nullptr) return std::nullopt;
    return shared_place{known->second.offset, std::move(owner)};
  };
  std::unique_lock lock(mutex_);
  if (auto place = find()) return place;
  free_unused_shared();
  std::size_t capacity = value->data.size();
  const std::uint64_t offset = request_arena_.allocate(capacity);
  lock.unlock();  // it may be large
  if (!value->data.empty()) {
    std::memcpy(requests_.data() + offset, value->data.data(), value->data.size());
  }
  lock.lock();
  if (auto place = find()) {  // another thread was faster
    request_arena_.release(offset, capacity);
    return place;
  }
  free_unused_shared();
  shared_[value->key] = {value, offset, capacity};
  return shared_place{offset, value};
}

void pool::free_unused_shared() {
  std::erase_if(shared_, [this](const auto& each) {
    if (!each.second.owner.expired()) return false;
    request_arena_.release(each.second.offset, each.second.capacity);
    return true;
  });
}

std::uint32_t pool::show_variable(const std::shared_ptr<variable_home>& variable) {
  const std::lock_guard lock(mutex_);
  if (const auto known = cells_.find(variable->id); known != cells_.end()) return known->second + 1;
  auto free = std::find_if(variables_.begin(), variables_.end(),
                           [](const auto& each) { return each.expired(); });
  const auto cell = static_cast<std::uint32_t>(free - variables_.begin());
  if (cell == variable_cells) return variable_view::no_cell;
  if (free == variables_.end()) {
    variables_.push_back(variable);
  } else {
    std::erase_if(cells_, [cell](const auto& each) { return each.second == cell; });
    *free = variable;
  }
  cells_[variable->id] = cell;
  variable->show_at(control_->variables[cell], weak_from_this());
  return cell + 1;
}

// What workers have made of them stays known when the cells are gone.
void pool::take_in_variables() {
  const std::lock_guard lock(mutex_);
  for (std::size_t cell = 0; cell < variables_.size(); ++cell) {
    if (const auto variable = variables_[cell].lock()) {
      variable->take_in(control_->variables[cell].load(std::memory_order_relaxed));
    }
  }
}

}  // namespace cppless::detail

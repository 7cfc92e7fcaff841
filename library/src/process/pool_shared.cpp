// SPDX-License-Identifier: Apache-2.0
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

}  // namespace cppless::detail

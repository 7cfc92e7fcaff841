// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/archive.hpp>

#include <string>

namespace cppless::detail {

std::uint32_t shared_numbers::number_of(std::shared_ptr<const void> pointer,
                                        std::type_index type) {
  const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
  const auto [place, added] = numbers_.try_emplace({std::move(pointer), type}, next);
  return added ? next | cereal::detail::msb_32bit : place->second;
}

std::shared_ptr<void> shared_objects::object(std::uint32_t number, std::type_index type) const {
  const auto found = objects_.find(number);
  if (found == objects_.end()) {
    throw rejected("malformed data: shared object " + std::to_string(number) +
                   " is referred to before it was read; " + std::to_string(objects_.size()) +
                   " were");
  }
  if (found->second.type != type) {
    throw rejected("malformed data: shared object " + std::to_string(number) + " is a " +
                   found->second.type.name() + ", not a " + type.name());
  }
  if (found->second.alive && !*found->second.alive) {
    throw rejected("malformed data: shared object " + std::to_string(number) +
                   " is referred to before its constructor has run");
  }
  return found->second.object;
}

void shared_objects::enter(std::uint32_t number, std::type_index type,
                           std::shared_ptr<void> object, std::shared_ptr<bool> alive) {
  objects_.insert_or_assign(number, shared_object{std::move(object), std::move(alive), type});
}

}  // namespace cppless::detail

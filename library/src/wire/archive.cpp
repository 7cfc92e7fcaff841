// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/archive.hpp>

#include <map>
#include <string>
#include <typeindex>
#include <unordered_map>

namespace cppless::detail {

struct shared_numbers::table {
  // Holds the pointers, so that an address is not used again while the archive lives.
  std::map<std::pair<std::shared_ptr<const void>, std::type_index>, std::uint32_t> numbers;
};

std::uint32_t shared_numbers::number_of(std::shared_ptr<const void> pointer,
                                        const std::type_info& type) {
  if (table_ == nullptr) table_ = std::make_shared<table>();
  const auto next = static_cast<std::uint32_t>(table_->numbers.size() + 1);
  const auto [place, added] = table_->numbers.try_emplace({std::move(pointer), type}, next);
  return added ? next | cereal::detail::msb_32bit : place->second;
}

struct shared_objects::table {
  struct shared_object {
    std::shared_ptr<void> object;
    std::shared_ptr<bool> alive;
    std::type_index type;
  };
  std::unordered_map<std::uint32_t, shared_object> objects;
};

std::shared_ptr<void> shared_objects::object(std::uint32_t number,
                                             const std::type_info& type) const {
  static const table none;
  const auto& objects = table_ != nullptr ? table_->objects : none.objects;
  const auto found = objects.find(number);
  if (found == objects.end()) {
    throw rejected("malformed data: shared object " + std::to_string(number) +
                   " is referred to before it was read; " + std::to_string(objects.size()) +
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

void shared_objects::enter(std::uint32_t number, const std::type_info& type,
                           std::shared_ptr<void> object, std::shared_ptr<bool> alive) {
  if (table_ == nullptr) table_ = std::make_shared<table>();
  table_->objects.insert_or_assign(
      number, table::shared_object{std::move(object), std::move(alive), type});
}

void deferments::serializeDeferments() {
  for (std::size_t i = 0; i < deferred_.size(); ++i) std::exchange(deferred_[i], nullptr)();
  deferred_.clear();
}

void deferments::defer(std::function<void()> later) { deferred_.push_back(std::move(later)); }

binary_output_archive::binary_output_archive(sink& out) : output_archive(this), out_(out) {}
binary_output_archive::~binary_output_archive() = default;

binary_input_archive::binary_input_archive(source& in) : input_archive(this), in_(in) {}
binary_input_archive::~binary_input_archive() = default;

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/shared_bytes.hpp>

#include <boost/uuid/name_generator_sha1.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/instance_core.hpp>
#include <cppless/errors.hpp>

namespace cppless::detail {
namespace {

// 128 bits of SHA-1. Nobody's secret hangs on it: workers decode whatever bytes they are given.
content_key key_of(std::span<const std::byte> data) {
  boost::uuids::name_generator_sha1 hash(boost::uuids::ns::oid());
  const boost::uuids::uuid name = hash(data.data(), data.size());
  content_key key;
  std::copy(name.begin(), name.end(), key.begin());
  return key;
}

}  // namespace

namespace {

// The values that tasks of this process only name.
struct placed_here {
  std::mutex mutex;
  std::map<content_key, std::weak_ptr<const shared_bytes>> by_key;

  static placed_here& get() {
    static auto* const all = new placed_here;  // for tasks that end with the program
    return *all;
  }

  std::shared_ptr<const shared_bytes> find(const content_key& key) {
    const std::lock_guard lock(mutex);
    const auto found = by_key.find(key);
    return found == by_key.end() ? nullptr : found->second.lock();
  }
};

}  // namespace

std::shared_ptr<const shared_bytes> place_in_process(
    const std::shared_ptr<const shared_bytes>& value) {
  placed_here& all = placed_here::get();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<const shared_bytes>& place = all.by_key[value->key];
  if (auto known = place.lock()) return known;
  place = value;
  std::erase_if(all.by_key, [](const auto& each) { return each.second.expired(); });
  return value;
}

shared_bytes::shared_bytes(bytes encoded) : data(std::move(encoded)), key(key_of(data)) {}

namespace {

// Where it is not there yet.
void add_value(shared_uses& to, const std::shared_ptr<const shared_bytes>& value) {
  const bool is_known = std::any_of(to.begin(), to.end(),
                                    [&](const auto& each) { return each->key == value->key; });
  if (!is_known) to.push_back(value);
}

}  // namespace

void keep_too(std::unique_ptr<shared_things>& to, const std::shared_ptr<const shared_things>& more) {
  if (more == nullptr) return;
  if (to == nullptr) to = std::make_unique<shared_things>();
  for (const auto& each : more->values) add_value(to->values, each);
  to->others.push_back(more);
}

void write_shared(sink& to, const std::shared_ptr<const shared_bytes>& value) {
  using kind = shared_reference::kind;
  std::optional<shared_place> place;
  if (sharing_scope* const scope = sharing_scope::current_) {
    place = scope->on_.place_shared(value);
    if (place) add_value(scope->uses().values, place->kept_by);
  }
  const std::uint64_t size = value->data.size();
  const auto what = static_cast<std::uint8_t>(place ? kind::placed : kind::in_line);
  to.write(&what, sizeof what);
  to.write(value->key.data(), value->key.size());
  to.write(&size, sizeof size);
  if (place) {
    to.write(&place->offset, sizeof place->offset);
  } else {
    to.write(value->data.data(), value->data.size());
  }
}

std::uint32_t sharing_scope::show(const std::shared_ptr<variable_home>& variable) {
  if (current_ == nullptr) return 0;
  current_->uses().variables.push_back(variable);
  return current_->on_.show_variable(variable);
}

luggage* sharing_scope::beside() {
  if (current_ == nullptr || current_->what_ == nullptr || !current_->on_.takes_objects()) return nullptr;
  luggage& made = current_->uses().beside;
  const movable_values state = current_->movable_ & 1 ? current_->what_->movable_state : 0;
  made.let_move(current_->are_arguments_ ? current_->movable_ : state);
  return &made;
}

void sharing_scope::keep(std::shared_ptr<void> kept) {
  if (current_ == nullptr) {
    throw rejected("a channel can be sent only as a capture or argument of a task that is dispatched or "
                   "added to a graph: not in a result, and not in a graph that a node returns");
  }
  if (!current_->on_.is_on_this_machine()) {
    throw rejected("a channel does not reach tasks on other machines: use results, or shared "
                   "variables");
  }
  current_->uses().others.push_back(std::move(kept));
}

shared_reference shared_reference::read(source& from) {
  shared_reference reference;
  std::uint8_t what = 0;
  from.read(&what, sizeof what);
  if (what > 1) reject_value("the place of a shared value", what, 1);
  reference.what = static_cast<kind>(what);
  from.read(reference.key.data(), reference.key.size());
  from.read(&reference.size, sizeof reference.size);
  if (reference.what == kind::placed) {
    from.read(&reference.offset, sizeof reference.offset);
  } else {
    from.check_count(reference.size, 1);
  }
  return reference;
}

void shared_reference::skip(source& from) const {
  if (what != kind::in_line) return;
  constexpr std::size_t step = 4096;  // not all may be in memory
  for (std::uint64_t left = size; left != 0;) {
    const std::size_t some = std::min<std::uint64_t>(left, step);
    from.take(some);
    left -= some;
  }
}

std::span<const std::byte> shared_reference::locate(source& from, bytes& storage) const {
  if (what == kind::in_line) {
    storage.resize(size);
    from.read(storage.data(), size);
    return storage;
  }
  // Kept by the task that reads it.
  if (const auto here = placed_here::get().find(key); here != nullptr && here->data.size() == size) {
    return here->data;
  }
  if (shared_directory::installed_ == nullptr) {
    throw rejected("a shared value of " + std::to_string(size) +
                   " bytes lies in memory of another process");
  }
  return shared_directory::installed_->find(key, offset, size);
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/binary_archive.hpp>
#include <cppless/detail/task/shared_holder.hpp>

namespace cppless {

/// A value that many tasks read: encoded once, sent once to each worker, decoded once there, and
/// then shared by all tasks that capture it or take it as an argument. `shared(value)` makes one.
/// (thesis 5.6.2: sending the scene with every tile took 40 % of the ray tracer's host)
///
///     const auto world = cppless::shared(build_world());
///     auto pixels = cppless::map(workers, tiles, [world](tile t) { return paint(*world, t); });
///
/// A handle: copies are cheap and stand for the same value, which never changes. The value lives as
/// long as a handle or a task under way needs it. Thread-safe as a `shared_ptr<const T>` is.
///
/// Cost: a task carries some 40 bytes for it. Locally the value lies in memory shared with all
/// workers. Where it must travel with tasks (Lambda, tasks that dispatch further ones) see the
/// dispatcher; a node of a graph carries it, too. A worker keeps the 16 values of a type that it used
/// last. Elsewhere than in a task, archives write the value itself.
template <class T>
class shared_value {
  static_assert(detail::is_serializable<T>, "a shared value must be serialisable");

 public:
  using value_type = T;

  /// Holds nothing; a place to decode or to assign to.
  shared_value() = default;

  /// Undefined where it holds nothing.
  const T& operator*() const noexcept { return *holder_->value; }
  const T* operator->() const noexcept { return holder_->value.get(); }
  explicit operator bool() const noexcept { return holder_ != nullptr; }

  /// For the templates of this library.
  explicit shared_value(std::shared_ptr<const detail::shared_holder<T>> holder) noexcept
      : holder_(std::move(holder)) {}

  template <class Archive>
  void save(Archive& archive) const {
    archive(holder_ != nullptr);
    if (holder_ == nullptr) return;
    if constexpr (std::is_same_v<Archive, detail::binary_output_archive>) {
      detail::write_shared(archive.raw(), holder_->encoded());
    } else {
      archive(**this);
    }
  }

  template <class Archive>
  void load(Archive& archive) {
    bool is_there = false;
    archive(is_there);
    if (!is_there) {
      holder_ = nullptr;
    } else if constexpr (std::is_same_v<Archive, detail::binary_input_archive>) {
      holder_ = detail::read_shared<T>(archive.raw());
    } else {
      T value;
      archive(value);
      holder_ = std::make_shared<const detail::shared_holder<T>>(
          std::make_shared<const T>(std::move(value)));
    }
  }

 private:
  std::shared_ptr<const detail::shared_holder<T>> holder_;
};

/// Makes a value that tasks share. It is encoded when the first task with it is dispatched.
template <class T>
shared_value<std::decay_t<T>> shared(T&& value) {
  using stored = std::decay_t<T>;
  return shared_value<stored>(std::make_shared<const detail::shared_holder<stored>>(
      std::make_shared<const stored>(std::forward<T>(value))));
}

}  // namespace cppless

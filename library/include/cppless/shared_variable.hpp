// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <cppless/binary_archive.hpp>
#include <cppless/detail/task/variable_state.hpp>
#include <cppless/errors.hpp>

namespace cppless {

/// How updates change a shared variable. One of your own is such a struct: `merge(value, update)`
/// is the new value, and where `combine(update, update)` is missing `merge` must be associative, as
/// updates of one task are combined before they count. `is_repeatable` says that doing an update
/// twice is doing it once: then it is seen at once instead of when its task has succeeded.
/// (Faabric, table 3; the thesis names the idea in 6.1)
namespace merge {

struct sum {
  static constexpr auto merge = [](auto value, auto update) { return value + update; };
};
struct subtract {
  static constexpr auto merge = [](auto value, auto update) { return value - update; };
  static constexpr auto combine = [](auto a, auto b) { return a + b; };
};
struct multiply {
  static constexpr auto merge = [](auto value, auto update) { return value * update; };
};
struct divide {
  static constexpr auto merge = [](auto value, auto update) { return value / update; };
  static constexpr auto combine = [](auto a, auto b) { return a * b; };
};
struct min {
  static constexpr bool is_repeatable = true;
  static constexpr auto merge = [](auto value, auto update) { return update < value ? update : value; };
};
struct max {
  static constexpr bool is_repeatable = true;
  static constexpr auto merge = [](auto value, auto update) { return value < update ? update : value; };
};
struct overwrite {
  static constexpr auto merge = [](auto, auto update) { return update; };
};

}  // namespace merge

/// A small value that tasks read and change while they run: the best bound of a search, a counter.
///
///     cppless::shared_variable<int, cppless::merge::max> best(0);
///     cppless::map(workers, parts, [best](const part& p) { search(p, best); });
///     // inside: if (bound(node) <= best.get()) return; ... best.update(node.value);
///
/// A handle: copies stand for the same variable, which lives as long as one of them and the tasks
/// that have one. Thread-safe; updates are made of `const` handles, since captures are const.
///
/// Reads are cheap and may be old: local tasks see repeatable updates (`min`, `max`) of others at
/// once and all others when the task that made them has succeeded, as does the program itself; a
/// task on Lambda sees the value at its dispatch. A task always sees its own updates. The updates of
/// a task count once if it succeeds, however often it had to be started, and not at all if it fails,
/// except repeatable ones that others have seen. Those that come too late, after the last handle
/// outside tasks has gone, are lost.
///
/// `T` is trivially copyable and has at most 8 bytes. A task's update must be made on the thread
/// that runs it. A task on Lambda cannot pass a variable on to tasks of its own, a local task none that
/// it has made itself. What a task's own tasks update counts when they have succeeded.
template <class T, class Merge = merge::overwrite>
class shared_variable {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(detail::variable_bits),
                "a shared variable's type must be trivially copyable and have at most 8 bytes: share "
                "a smaller summary of the value, such as its cost");

 public:
  using value_type = T;

  explicit shared_variable(T initial)
      : home_(std::make_shared<detail::variable_home>(to_bits(initial), &merge_bits, is_repeatable)) {}

  T get() const {
    if (home_ != nullptr) return from_bits(home_->value());
    const detail::variable_bits seen =
        view_.cell != nullptr ? view_.cell->load(std::memory_order_relaxed) : view_.sent;
    if (is_repeatable && view_.cell != nullptr) return from_bits(seen);
    const detail::update_scope* const task = detail::update_scope::current();
    const auto* const own = task != nullptr ? task->log.find(view_.id) : nullptr;
    return from_bits(own != nullptr ? merge_bits(seen, own->value) : seen);
  }

  /// Throws `rejected` in a task, but on another thread than the task's.
  void update(T with) const {
    if (home_ != nullptr) return home_->update(to_bits(with));
    if (is_repeatable && view_.cell != nullptr) {
      return detail::merge_into(*view_.cell, &merge_bits, to_bits(with));
    }
    detail::update_scope* const task = detail::update_scope::current();
    if (task == nullptr) {
      throw rejected("a shared variable was updated by a thread that does not run its task");
    }
    task->log.add(view_.id, &combine_bits, to_bits(with));
  }

  /// For the templates of this library.
  shared_variable() = default;

  template <class Archive>
  void save(Archive& archive) const {
    if constexpr (!std::is_same_v<Archive, detail::binary_output_archive>) {
      archive(get());
    } else if (home_ != nullptr) {
      detail::write_variable(archive.raw(), home_);
    } else {
      detail::write_variable(archive.raw(), view_);
    }
  }

  template <class Archive>
  void load(Archive& archive) {
    if constexpr (!std::is_same_v<Archive, detail::binary_input_archive>) {
      T value;
      archive(value);
      *this = shared_variable(value);
    } else {
      home_ = nullptr;
      view_ = detail::read_variable(archive.raw());
    }
  }

 private:
  static constexpr bool is_repeatable = requires { Merge::is_repeatable; };

  static detail::variable_bits to_bits(T value) noexcept {
    detail::variable_bits bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T from_bits(detail::variable_bits bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static detail::variable_bits merge_bits(detail::variable_bits value,
                                          detail::variable_bits update) {
    return to_bits(Merge::merge(from_bits(value), from_bits(update)));
  }
  static detail::variable_bits combine_bits(detail::variable_bits a, detail::variable_bits b) {
    if constexpr (requires { Merge::combine(T(), T()); }) {
      return to_bits(Merge::combine(from_bits(a), from_bits(b)));
    } else {
      return merge_bits(a, b);
    }
  }

  std::shared_ptr<detail::variable_home> home_;
  detail::variable_view view_;
};

}  // namespace cppless

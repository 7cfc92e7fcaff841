// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

/// Values that travel as they are, beside the bytes of all others, to somebody in the same process.
///
/// Only types without code of their author's: what those would do on the way (note who uses a
/// channel, say) is done in one process too. So are pointers that are shared: a copy would share what
/// it points to with the program, which is not so anywhere else.
namespace cppless::detail {

template <class T, class... Seen>
consteval bool find_movable();

template <class... Seen, class... Part>
consteval bool are_movable(type_list<Part...>) {
  return (find_movable<std::remove_cv_t<Part>, Seen...>() && ...);
}

/// Whether all there is of a value is data that belongs to it.
template <class T, class... Seen>
consteval bool find_movable() {
  constexpr form f = form_of<T>;
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else if constexpr (f == form::none || f == form::custom || f == form::closure ||
                       f == form::shared || f == form::weak) {
    return false;
  } else {
    return are_movable<T, Seen...>(typename parts_of<T>::type{});
  }
}

template <class T, class... Seen>
consteval bool find_copyable();

template <class... Seen, class... Part>
consteval bool are_copyable(type_list<Part...>) {
  return (find_copyable<std::remove_cv_t<Part>, Seen...>() && ...);
}

/// Asked of the parts, since containers say that they can be copied whatever is in them.
template <class T, class... Seen>
consteval bool find_copyable() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else if constexpr (form_of<T> == form::unique || !std::is_copy_constructible_v<T>) {
    return std::is_array_v<T> && are_copyable<T, Seen...>(typename parts_of<T>::type{});
  } else {
    return are_copyable<T, Seen...>(typename parts_of<T>::type{});
  }
}

/// Flat values are no less than their bytes.
template <class T>
inline constexpr bool can_be_luggage =
    shape_of<T>.ok && !(shape_of<T>.flat && !shape_of<T>.checked) && form_of<T> != form::scalar &&
    !std::is_array_v<T> && std::is_move_constructible_v<T> && find_movable<T>();

/// In the order in which they are put in. Not thread-safe.
class luggage {
 public:
  luggage() = default;
  luggage(luggage&& other) noexcept : items_(std::move(other.items_)), at_(other.at_) {}
  luggage(const luggage&) = delete;
  luggage& operator=(const luggage&) = delete;
  ~luggage();

  /// Whether nothing was ever put in.
  bool empty() const noexcept { return items_.empty(); }

  /// Which of the values put in from now on may be moved from, though they look constant: the first
  /// one's bit is the lowest. Those behind the last bit may not.
  void let_move(std::uint32_t which) noexcept { movable_ = which; }

  /// In place of one that is always encoded.
  void pass_over() noexcept { movable_ >>= 1; }

  /// False if it can be neither moved nor copied: its bytes follow.
  template <class T>
  bool put(const T& value) {
    const bool may_move = movable_ & 1;
    movable_ >>= 1;
    if (may_move) {
      add(new T(std::move(const_cast<T&>(value))));
      return true;
    }
    if constexpr (find_copyable<T>()) {
      add(new T(value));
      return true;
    } else {
      items_.push_back({nullptr, nullptr});
      return false;
    }
  }

  /// The next one; null if its bytes followed. Throws `rejected` if there is none.
  template <class T>
  std::unique_ptr<T> take() {
    return std::unique_ptr<T>(static_cast<T*>(next()));
  }

 private:
  struct item {
    void* value;
    void (*destroy)(void*);
  };

  template <class T>
  void add(T* made) {
    std::unique_ptr<T> owned(made);
    items_.push_back({made, [](void* value) { delete static_cast<T*>(value); }});
    owned.release();
  }
  void* next();

  std::vector<item> items_;
  std::size_t at_ = 0;
  std::uint32_t movable_ = 0;
};

}  // namespace cppless::detail

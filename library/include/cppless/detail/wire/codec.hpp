// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/binary.hpp>
#include <cppless/detail/wire/luggage.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

/// Values without their types: what is compiled once for each type of a capture, argument or result
/// and not again for each task.
namespace cppless::detail {

struct codec {
  std::size_t least;                           ///< Fewest bytes that a value takes.
  std::size_t (*measure)(const void* value);   ///< Exact number; null if unknown or always `least`.
  void (*encode)(sink& to, const void* value);
  void (*decode)(source& from, void* place);   ///< Constructs; if it throws, there is no value.
  void (*destroy)(void* value);                ///< Null if there is nothing to do.
  bool (*pack)(luggage& to, const void* value);    ///< False: to be encoded. Null if always so.
  bool (*unpack)(luggage& from, void* place);
};

// Not inline: the optimiser would copy them into every task.

template <class T>
[[gnu::noinline]] std::size_t measure_erased(const void* value) {
  return measure(*static_cast<const T*>(value));
}
template <class T>
[[gnu::noinline]] void encode_erased(sink& to, const void* value) {
  encode(to, *static_cast<const T*>(value));
}
template <class T>
[[gnu::noinline]] void decode_erased(source& from, void* place) {
  decode_at(from, static_cast<T*>(place));
}
template <class T>
[[gnu::noinline]] void destroy_erased(void* value) {
  std::destroy_at(static_cast<T*>(value));
}

template <class T>
[[gnu::noinline]] bool pack_erased(luggage& to, const void* value) {
  return to.put(*static_cast<const T*>(value));
}
template <class T>
[[gnu::noinline]] bool unpack_erased(luggage& from, void* place) {
  const std::unique_ptr<T> value = from.take<T>();
  if (value == nullptr) return false;
  ::new (place) T(std::move(*value));
  return true;
}

template <class T>
consteval codec make_codec() {
  constexpr shape s = shape_of<T>;
  codec made{s.least, nullptr, &encode_erased<T>, &decode_erased<T>, nullptr, nullptr, nullptr};
  if constexpr (s.sized && !s.exact) made.measure = &measure_erased<T>;
  if constexpr (!std::is_trivially_destructible_v<T>) made.destroy = &destroy_erased<T>;
  if constexpr (can_be_luggage<T>) {
    made.pack = &pack_erased<T>;
    made.unpack = &unpack_erased<T>;
  }
  return made;
}

template <class T>
inline constexpr codec codec_of = make_codec<T>();

/// The codecs of several values, null behind the last.
template <class... T>
inline constexpr const codec* codecs_of[] = {&codec_of<T>..., nullptr};

/// Values that are their own encoding are copied in line: that takes less code than codecs do.
template <class... T>
inline constexpr bool are_flat = ((shape_of<T>.flat && !shape_of<T>.checked) && ...);

/// Encodes the values at `places`, which makes room for all of them at once as far as it is known
/// how much they take. Beside the bytes, if the sink lets them.
void encode_values(sink& to, const codec* const* codecs, const void* const* places);

/// A result, beside the bytes if the sink lets it. It is a temporary that the caller knows best.
template <class T>
void encode_or_pack(sink& to, const T& value) {
  if constexpr (can_be_luggage<T>) {
    if (luggage* const beside = to.beside()) {
      beside->let_move(1);
      beside->put(value);
      return;
    }
  }
  encode(to, value);
}
template <class T>
std::unique_ptr<T> unpacked(source& from) {
  if constexpr (can_be_luggage<T>) {
    if (luggage* const beside = from.beside()) return beside->take<T>();
  }
  return nullptr;
}

/// Values that are built one after another in room of somebody else's, and destroyed in reverse.
class decoded_values {
 public:
  /// If one throws, those before it are destroyed.
  decoded_values(source& from, const codec* const* codecs, void* const* places);
  decoded_values(const decoded_values&) = delete;
  decoded_values& operator=(const decoded_values&) = delete;
  ~decoded_values() { destroy(); }

 private:
  void destroy() noexcept;

  const codec* const* codecs_;
  void* const* places_;
  std::size_t alive_ = 0;
};

}  // namespace cppless::detail

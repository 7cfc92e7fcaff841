// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/buffer.hpp>

#include <cereal/cereal.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

/// The archives that users' `serialize`, `save` and `load` functions see. They hide cereal's call
/// operator: what the library knows itself (numbers, standard containers, plain aggregates,
/// pointers) is written in line, only the user's own functions go through cereal.
///
/// Exactly two pairs of archives exist: binary ones here, and those for JSON in json_archive.hpp.
/// What they keep is made and destroyed in archive.cpp: containers of it would cost every source
/// that includes this, whether it has archives or not.
namespace cereal::memory_detail {
template <class T>
struct PtrWrapper;  // in <cereal/types/memory.hpp>, which is included by those who need it
}

namespace cppless::detail {

class binary_output_archive;

/// Gives shared objects their numbers.
class shared_numbers {
 public:
  /// The number that stands for `pointer`, with the highest bit set the first time. One address
  /// may hold objects of several types (a struct and its first member): each has its own number.
  template <class T>
  std::uint32_t number_of(const std::shared_ptr<T>& pointer) {
    return number_of(std::static_pointer_cast<const void>(pointer), typeid(T));
  }

 private:
  std::uint32_t number_of(std::shared_ptr<const void> pointer, const std::type_info& type);

  struct table;
  std::shared_ptr<table> table_;
};

/// Shared objects that were read, by their numbers.
class shared_objects {
 public:
  /// Throws `rejected` if there is no such object, if it is not a T (cereal itself would cast it
  /// blindly), or if its constructor has not run yet.
  template <class T>
  std::shared_ptr<T> object(std::uint32_t number) {
    return std::static_pointer_cast<T>(object(number, typeid(T)));
  }

  /// Enters an object; `alive` (optional) tells whether its constructor has run.
  template <class T>
  void enter(std::uint32_t number, const std::shared_ptr<T>& object,
             std::shared_ptr<bool> alive = {}) {
    enter(number, typeid(T), std::const_pointer_cast<std::remove_cv_t<T>>(object),
          std::move(alive));
  }

 private:
  std::shared_ptr<void> object(std::uint32_t number, const std::type_info& type) const;
  void enter(std::uint32_t number, const std::type_info& type, std::shared_ptr<void> object,
             std::shared_ptr<bool> alive);

  struct table;
  std::shared_ptr<table> table_;
};

/// What `cereal::defer` was given. Hides cereal's, which would bypass our call operators.
class deferments {
 public:
  void serializeDeferments();
  void defer(std::function<void()> later);

 private:
  std::vector<std::function<void()>> deferred_;
};

/// Whether T's one function for cereal is an unversioned member `serialize`. The binary archives call
/// it themselves: cereal would look for its archive in memory three times on the way.
template <class Self, class T>
concept plainly_serialized =
    !requires { typename Self::text_archive; } &&
    cereal::traits::has_member_serialize<T, Self>::value &&
    !cereal::traits::is_specialized<T, Self>::value &&
    cereal::traits::detail::count_output_serializers<T, binary_output_archive>::value == 1;

template <class Self>
class output_archive : public cereal::OutputArchive<Self, cereal::AllowEmptyClassElision>,
                       public shared_numbers,
                       public deferments {
  using base = cereal::OutputArchive<Self, cereal::AllowEmptyClassElision>;

 public:
  explicit output_archive(Self* self) : base(self) {}

  using deferments::serializeDeferments;

  template <class... T>
  Self& operator()(T&&... values);
  template <class T>
  Self& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  Self& operator<<(T&& value) {
    return (*this)(value);
  }

  /// Calls the user's code through cereal.
  template <class T>
  void custom(const T& value) {
    if constexpr (plainly_serialized<Self, T>) {
      cereal::access::member_serialize(static_cast<Self&>(*this), const_cast<T&>(value));
    } else {
      base::operator()(value);
    }
  }
};

template <class Self>
class input_archive : public cereal::InputArchive<Self, cereal::AllowEmptyClassElision>,
                      public shared_objects,
                      public deferments {
  using base = cereal::InputArchive<Self, cereal::AllowEmptyClassElision>;

 public:
  explicit input_archive(Self* self) : base(self) {}

  using deferments::serializeDeferments;

  template <class... T>
  Self& operator()(T&&... values);
  template <class T>
  Self& operator&(T&& value) {
    return (*this)(value);
  }
  template <class T>
  Self& operator>>(T&& value) {
    return (*this)(value);
  }

  template <class T>
  void custom(T& value) {
    if constexpr (plainly_serialized<Self, T>) {
      cereal::access::member_serialize(static_cast<Self&>(*this), value);
    } else {
      base::operator()(value);
    }
  }

  /// Reads a unique_ptr to a class derived from `base_type`, through cereal.
  template <class T>
  void custom(T& value, const std::type_info& base_type) {
    const std::type_info* outer = std::exchange(base_, &base_type);
    custom(value);
    base_ = outer;
  }

  /// The base class that the pointer being read must have; null if none was asked for. Ends with
  /// the call.
  const std::type_info* take_base() noexcept { return std::exchange(base_, nullptr); }

 private:
  const std::type_info* base_ = nullptr;
};

class binary_output_archive : public output_archive<binary_output_archive> {
 public:
  explicit binary_output_archive(sink& out);
  ~binary_output_archive();

  sink& raw() noexcept { return out_; }
  nesting_limit& nesting() noexcept { return out_.nesting(); }

 private:
  sink& out_;
};

class binary_input_archive : public input_archive<binary_input_archive> {
 public:
  explicit binary_input_archive(source& in);
  ~binary_input_archive();

  source& raw() noexcept { return in_; }
  nesting_limit& nesting() noexcept { return in_.nesting(); }

 private:
  source& in_;
};

// What cereal's own functions write through its process(): class versions, minimal values.

template <class T>
concept plain_value = std::is_arithmetic_v<T>;

template <class Self, plain_value T>
void save(output_archive<Self>& archive, const T& value) {
  archive(value);
}
template <class Self, plain_value T>
void load(input_archive<Self>& archive, T& value) {
  archive(value);
}
template <class Self, class T>
void serialize(output_archive<Self>& archive, cereal::NameValuePair<T>& pair) {
  archive(pair);
}
template <class Self, class T>
void serialize(input_archive<Self>& archive, cereal::NameValuePair<T>& pair) {
  archive(pair);
}
template <class Self, class T>
void serialize(output_archive<Self>& archive, cereal::SizeTag<T>& tag) {
  archive(tag);
}
template <class Self, class T>
void serialize(input_archive<Self>& archive, cereal::SizeTag<T>& tag) {
  archive(tag);
}
template <class T>
void save(binary_output_archive& archive, const cereal::BinaryData<T>& data) {
  archive.raw().write(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void load(binary_input_archive& archive, cereal::BinaryData<T>& data) {
  archive.raw().read(data.data, static_cast<std::size_t>(data.size));
}
template <class Self, class Char, class Traits, class Allocator>
void save(output_archive<Self>& archive,
          const std::basic_string<Char, Traits, Allocator>& text) {
  archive(text);
}
template <class Self, class Char, class Traits, class Allocator>
void load(input_archive<Self>& archive, std::basic_string<Char, Traits, Allocator>& text) {
  archive(text);
}

}  // namespace cppless::detail

CEREAL_REGISTER_ARCHIVE(cppless::detail::binary_output_archive)
CEREAL_REGISTER_ARCHIVE(cppless::detail::binary_input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(cppless::detail::binary_input_archive,
                            cppless::detail::binary_output_archive)

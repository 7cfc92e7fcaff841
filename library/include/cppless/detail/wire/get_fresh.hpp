// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/wire/get.hpp>

/// Decoding into objects that do not exist yet: values, heap and shared objects, raw storage.
/// The load_and_construct functions of cereal are honoured in each.
namespace cppless::detail {
struct construct_access;
}
namespace cereal::detail {
struct PolymorphicCasters;  // in <cereal/details/polymorphic_impl.hpp>
}

/// cereal lets only this template make a `construct`; the specialisation is our way in.
template <class T>
struct cereal::memory_detail::LoadAndConstructLoadWrapper<cppless::detail::construct_access, T> {
  LoadAndConstructLoadWrapper(T* place, std::function<void()> constructed)
      : construct(place, std::move(constructed)) {}
  cereal::construct<T> construct;
};

namespace cppless::detail {

/// Room for one T, which is destroyed with it once it was constructed.
template <class T>
class storage_for {
 public:
  storage_for() noexcept {}
  storage_for(const storage_for&) = delete;
  storage_for& operator=(const storage_for&) = delete;
  ~storage_for() {
    if (alive_) std::destroy_at(&value_);
  }

  T* place() noexcept { return &value_; }
  T& operator*() noexcept { return value_; }
  void mark_alive() noexcept { alive_ = true; }

 private:
  union {
    T value_;
  };
  bool alive_ = false;
};

/// Calls the user's load_and_construct, and `constructed` as soon as the constructor has run.
template <class In, class T, class F>
void load_and_construct(In& in, T* place, F constructed) {
  const node_of<In, T> node(in);
  bool done = false;
  cereal::memory_detail::LoadAndConstructLoadWrapper<construct_access, T> wrapper(
      place, [&] { done = true; constructed(); });
  cereal::detail::Construct<T, In>::load_andor_construct(in, wrapper.construct);
  if (!done) reject("load_and_construct returned without constructing the object (0 calls, 1 is due)");
}

/// Constructs a T at `place`. If it throws, there is none.
template <class T, class In>
void get_at(In& in, T* place);

template <class T, class In>
struct capture_builder {
  ~capture_builder() { undo(std::make_integer_sequence<int, T::capture_count()>{}); }

  template <int... I>
  void run(std::integer_sequence<int, I...>) {
    (step<I>(), ...);
  }
  template <int I>
  void step() {
    get_at(in, address<I>());
    done = I + 1;
  }
  template <int I>
  capture_type<T, I>* address() {
    return const_cast<capture_type<T, I>*>(std::addressof(closure->template capture<I>()));
  }
  template <int... I>
  void undo(std::integer_sequence<int, I...>) noexcept {
    constexpr int last = sizeof...(I) - 1;
    ((last - I < done ? std::destroy_at(address<last - I>()) : void()), ...);
  }

  In& in;
  T* closure;
  int done;  // captures that exist and are not yet owned by a whole closure
};

/// Builds a closure capture by capture; those that exist are destroyed in reverse if one throws.
template <class T, class In>
void get_closure_at(In& in, T* place) {
  capture_builder<T, In> builder{in, place, 0};
  builder.run(std::make_integer_sequence<int, T::capture_count()>{});
  builder.done = 0;
}

template <class T, class In>
void get_at(In& in, T* place) {
  if constexpr (form_of<T> == form::closure) {
    get_closure_at(in, place);
  } else if constexpr (constructs_itself<T>) {
    bool alive = false;
    try {
      load_and_construct(in, place, [&] { alive = true; });
    } catch (...) {
      if (alive) std::destroy_at(place);
      throw;
    }
  } else if constexpr (std::is_array_v<T>) {
    ::new (static_cast<void*>(place)) T{};
    get_into(in, *place);
  } else {
    ::new (static_cast<void*>(place)) T(get<T>(in));
  }
}

/// On the heap.
template <class T, class In>
std::unique_ptr<T> get_new(In& in) {
  using value_type = std::remove_const_t<T>;
  if constexpr (constructs_itself<value_type> || form_of<value_type> == form::closure) {
    struct room {
      alignas(value_type) std::byte bytes[sizeof(value_type)];
    };
    auto owned = std::unique_ptr<room>(new room);
    auto* place = reinterpret_cast<value_type*>(owned.get());
    get_at(in, place);
    owned.release();
    return std::unique_ptr<T>(place);
  } else if constexpr (form_of<value_type> == form::custom) {
    std::unique_ptr<value_type> object(cereal::access::construct<value_type>());
    get_into(in, *object);
    return object;
  } else {
    return std::unique_ptr<T>(new value_type(get<value_type>(in)));
  }
}

/// An object that a load_and_construct function builds inside a shared_ptr: others may refer to it
/// as soon as its constructor has run.
template <class T, class In>
std::shared_ptr<T> get_shared_constructed(In& in, std::uint32_t number) {
  auto room = std::make_shared<storage_for<T>>();
  auto alive = std::make_shared<bool>(false);
  std::shared_ptr<T> pointer(room, room->place());
  in.enter(number, pointer, alive);
  load_and_construct(in, pointer.get(), [&] {
    room->mark_alive();
    *alive = true;
  });
  return pointer;
}

template <class T, class In>
std::shared_ptr<T> get_shared_object(In& in, std::uint32_t number) {
  if constexpr (constructs_itself<T>) {
    return get_shared_constructed<T>(in, number);
  } else if constexpr (default_and_fill<T> || form_of<T> == form::custom) {
    // First entered, then read: what it contains may refer back to it.
    std::shared_ptr<T> pointer;
    if constexpr (form_of<T> == form::custom) {
      pointer.reset(cereal::access::construct<T>());
    } else {
      pointer = std::make_shared<T>();
    }
    in.enter(number, pointer);
    get_into(in, *pointer);
    return pointer;
  } else {
    std::shared_ptr<T> pointer(get_new<T>(in));
    in.enter(number, pointer);
    return pointer;
  }
}

template <class T, class In>
void get_shared(In& in, std::shared_ptr<T>& pointer) {
  if constexpr (text_input<In>) return get_text_shared(in, pointer);
  const auto number = get<std::uint32_t>(in);
  if (number == 0) {
    pointer.reset();
  } else if ((number & cereal::detail::msb_32bit) != 0) {
    pointer = get_shared_object<std::remove_const_t<T>>(in, number & ~cereal::detail::msb_32bit);
  } else {
    pointer = in.template object<std::remove_const_t<T>>(number);
  }
}

template <class T, class In, class... F>
T get_fields(In& in, type_list<F...>) {
  if constexpr (shape_of<T>.recursive) source_of(in).nesting().check();
  return T{get<std::remove_const_t<F>>(in)...};  // braces: in order
}

template <class T, class In, std::size_t... I>
T get_array(In& in, std::index_sequence<I...>) {
  const auto element = [&](std::size_t) { return get<typename T::value_type>(in); };
  return T{{element(I)...}};
}

template <class T, class In>
T get_custom(In& in) {
  if constexpr (constructs_itself<T>) {
    storage_for<T> storage;
    load_and_construct(in, storage.place(), [&] { storage.mark_alive(); });
    return std::move(*storage);
  } else if constexpr (std::is_default_constructible_v<T>) {
    T value{};
    get_into(in, value);
    return value;
  } else {  // private, with cereal::access as friend
    std::unique_ptr<T> object(cereal::access::construct<T>());
    get_into(in, *object);
    return std::move(*object);
  }
}

template <class T, class In>
T get(In& in) {
  constexpr form f = form_of<T>;
  constexpr shape s = shape_of<T>;
  static_assert(s.ok, "cppless cannot deserialise this type, see detail/wire/put.hpp");
  if constexpr (text_input<In> && f != form::custom) {
    return get_text<T>(in);
  } else if constexpr (s.direct && std::is_same_v<In, binary_input_archive>) {
    return get<T>(in.raw());
  } else if constexpr (f == form::custom) {
    return get_custom<T>(in);
  } else if constexpr (f == form::closure) {
    storage_for<T> storage;
    get_closure_at(in, storage.place());
    storage.mark_alive();
    return std::move(*storage);
  } else if constexpr (f == form::aggregate && !has_array_field<T>() &&
                       !(s.flat && !s.checked && default_and_fill<T>)) {
    return get_fields<T>(in, typename parts_of<T>::type{});
  } else if constexpr (f == form::product) {
    return get_fields<T>(in, typename parts_of<T>::type{});
  } else if constexpr (f == form::fixed && !default_and_fill<T>) {
    return get_array<T>(in, std::make_index_sequence<fixed_size<T>>{});
  } else if constexpr (f == form::scalar) {
    T value;
    get_into(in, value);
    return value;
  } else {
    T value{};
    get_into(in, value);
    return value;
  }
}

/// What users' functions pass to `archive(...)`: values, and cereal's wrappers around them.
template <class In, class T>
void get_argument(In& in, T& value) {
  get_into(in, value);
}
template <class In, class T>
void get_argument(In& in, cereal::NameValuePair<T>& pair) {
  if constexpr (text_input<In>) in.reader().name(pair.name);
  get_argument(in, pair.value);
}
template <class In, class T>
void get_argument(In& in, cereal::SizeTag<T>& tag) {
  std::uint64_t size;
  if constexpr (text_input<In>) {
    size = in.reader().count();
  } else {
    size = get<std::uint64_t>(in);
    in.raw().check_count(size, 0);
  }
  tag.size = static_cast<std::remove_reference_t<T>>(size);
}
template <class In, class T>
void get_argument(In& in, cereal::DeferredData<T>& later) {
  in.defer([&in, later]() mutable { get_argument(in, later.value); });
}
template <class In, class T>
void get_argument(In& in, cereal::base_class<T>& part) {
  if constexpr (form_of<std::remove_cv_t<T>> == form::custom) {
    in.custom(part);
  } else {
    get_into(in, *part.base_ptr);
  }
}
template <class In, class T>
void get_argument(In& in, cereal::virtual_base_class<T>& part) {
  in.custom(part);
}
template <class In, class T>
void get_argument(In& in, cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>& wrapper) {
  get_shared(in, wrapper.ptr);
}

/// cereal gives a new T to a pointer to its base class after reading it, and loses it if the two
/// are not related, as malformed data may say. So ask before.
template <class T, class In, class Casters = cereal::detail::PolymorphicCasters>
void check_base(In& in) {
  const std::type_info* base = in.take_base();
  if (base == nullptr || *base == typeid(T)) return;
  if (!Casters::lookup_if_exists(*base, typeid(T)).first) reject_relation(*base, typeid(T));
}

template <class In, class T, class D>
void get_argument(In& in, cereal::memory_detail::PtrWrapper<std::unique_ptr<T, D>&>& wrapper) {
  if constexpr (std::is_polymorphic_v<T>) check_base<T>(in);
  if constexpr (text_input<In>) {
    wrapper.ptr.reset(get_text_unique<T>(in).release());
  } else {
    wrapper.ptr.reset(get_flag(in) ? get_new<T>(in).release() : nullptr);
  }
}

/// The value inside cereal's name-value pair.
template <class T>
T& named_value(T& value) {
  return value;
}
template <class T>
std::remove_reference_t<T>& named_value(cereal::NameValuePair<T>& pair) {
  return pair.value;
}

template <class T>
consteval bool is_direct_argument() {
  if constexpr (std::is_const_v<T> || form_of<T> == form::none || form_of<T> == form::custom) {
    return false;
  } else {
    return shape_of<T>.direct && fillable<T>;
  }
}

template <class... T>
void get_arguments(binary_input_archive& in, T&... values) {
  if constexpr ((is_direct_argument<T>() && ...)) {
    get_each(in.raw(), values...);  // which looks at the depth itself where a type contains itself
  } else {
    in.nesting().check();
    (get_argument(in, values), ...);
  }
}

template <class Self>
template <class... T>
Self& input_archive<Self>::operator()(T&&... values) {
  Self& self = static_cast<Self&>(*this);
  if constexpr (text_input<Self>) {
    self.nesting().check();
    (get_argument(self, values), ...);
  } else {
    get_arguments(self, named_value(values)...);
  }
  return self;
}

}  // namespace cppless::detail

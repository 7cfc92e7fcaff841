// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include <cppless/detail/task/callable.hpp>
#include <cppless/detail/task/instance_core.hpp>

namespace cppless::detail {

/// A job whose result goes into a variable of the caller's.
template <class Result>
class variable_job final : public job {
 public:
  variable_job(const entry& what, payload_memory& memory, Result* result)
      : job(what, memory), result_(result) {}

  void succeed(source& from) override {
    if constexpr (!std::is_void_v<Result>) {
      // Where it is not, that is reported where the task is made.
      if constexpr (is_serializable<Result>) take(from);
    }
    from.finish();
  }
  bool takes_objects() const noexcept override {
    return std::is_void_v<Result> || std::is_move_assignable_v<Result>;
  }
  void fail(std::exception_ptr reason) noexcept override { error_ = std::move(reason); }
  bool is_awaited() const noexcept override { return true; }
  std::exception_ptr thrown() const noexcept override { return error_; }

 private:
  void take(source& from) {
    if constexpr (std::is_move_assignable_v<Result>) {
      if (const std::unique_ptr<Result> value = unpacked<Result>(from)) {
        *result_ = std::move(*value);
        return;
      }
    }
    decode_into(from, *result_);
  }

  Result* result_;
  std::exception_ptr error_;
};

/// A value as a task's parameter: a copy only where the types differ.
template <class Parameter, class Given>
std::conditional_t<std::is_same_v<Parameter, Given>, const Given&, Parameter> as_parameter(
    const Given& given) {
  if constexpr (std::is_same_v<Parameter, Given>) {
    return given;
  } else {
    return static_cast<Parameter>(given);
  }
}

/// The first is the lowest.
consteval movable_values bits_of(std::initializer_list<bool> which) {
  movable_values bits = 0, bit = 1;
  for (const bool each : which) {
    if (each) bits |= bit;
    bit <<= 1;
  }
  return bits;
}

template <class... Parameters>
void encode_arguments(sink& to, const Parameters&... arguments) {
  if constexpr (are_flat<Parameters...>) {
    put_cursor cursor(to.reserve((sizeof(Parameters) + ... + 0)));
    (cursor.write(std::addressof(arguments), sizeof(Parameters)), ...);
  } else {
    const void* const places[] = {std::addressof(arguments)..., nullptr};
    encode_values(to, codecs_of<Parameters...>, places);
  }
}

/// A job of one kind for one call. The same code for all tasks of one signature.
template <class Job, class... Parameters, class... Given>
std::unique_ptr<Job> make_job(instance_core& core, const call_target& target, auto&& destination,
                              movable_values movable, type_list<Parameters...>,
                              const Given&... given) {
  static_assert(sizeof...(Parameters) == sizeof...(Given),
                "this task takes another number of arguments");
  auto made = std::make_unique<Job>(*target.what, core.memory(),
                                    std::forward<decltype(destination)>(destination));
  if constexpr (sizeof...(Parameters) == sizeof...(Given)) {
    constexpr movable_values converted =
        bits_of({false, !std::is_same_v<Parameters, Given>...});
    sharing_scope scope(core, *target.what, movable | converted, made->shared);
    target.encode_state(made->payload);
    scope.arguments_follow();
    encode_arguments<Parameters...>(made->payload, as_parameter<Parameters>(given)...);
  }
  return made;
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
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
      if constexpr (is_serializable<Result>) decode_into(from, *result_);
    }
    from.finish();
  }
  void fail(std::exception_ptr reason) noexcept override { error_ = std::move(reason); }
  bool is_awaited() const noexcept override { return true; }
  std::exception_ptr thrown() const noexcept override { return error_; }

 private:
  Result* result_;
  std::exception_ptr error_;
};

/// Encodes each argument as its parameter's type; copies only where the types differ.
template <class... Parameters, class... Given>
void encode_arguments(sink& to, type_list<Parameters...>, const Given&... given) {
  static_assert(sizeof...(Parameters) == sizeof...(Given),
                "this task takes another number of arguments");
  if constexpr (sizeof...(Parameters) == sizeof...(Given)) {
    (
        [&] {
          if constexpr (std::is_same_v<Parameters, Given>) {
            encode(to, given);
          } else {
            encode(to, static_cast<Parameters>(given));
          }
        }(),
        ...);
  }
}

template <class Parameters, class F, class... Given>
void encode_request(sink& to, const F& callable, const Given&... given) {
  encode_callable(to, callable);
  encode_arguments(to, Parameters{}, given...);
}

}  // namespace cppless::detail

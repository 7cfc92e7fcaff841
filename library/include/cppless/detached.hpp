// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <cppless/detail/base/deadline.hpp>
#include <cppless/future.hpp>

/// Tasks that outlive the program that dispatches them. Their results are collected later, by this
/// process or another one of the same user:
///
///     std::cout << cppless::dispatch_detached(workers, simulate, 1'000'000).to_string();
///     ...
///     auto id = cppless::detached_id::parse(argv[1]);
///     std::cout << cppless::collect<double>(id);
namespace cppless {

/// Names one detached task among all of the user's on this machine.
class detached_id {
 public:
  /// 32 hexadecimal digits.
  std::string to_string() const;

  /// What `to_string` made. Throws `rejected` for any other text.
  static detached_id parse(std::string_view text);

  friend bool operator==(const detached_id&, const detached_id&) = default;

  /// For the templates of this library.
  explicit detached_id(const detail::detached_key& key) noexcept : key_(key) {}
  const detail::detached_key& key() const noexcept { return key_; }

 private:
  detail::detached_key key_;
};

enum class detached_state {
  running,
  done,     ///< Its result is there.
  failed,   ///< It threw, broke a limit, lost its process too often or was cancelled: `collect` says.
  lost,     ///< What ran it is gone without a word: killed, or the machine was started anew.
  unknown,  ///< Never dispatched by this user here, collected already, or too old.
};

/// "running", "done", ...
std::string_view to_string(detached_state state) noexcept;

namespace detail {

/// Where results are known by: the type's name.
template <class Result>
constant_name result_name() {
  return CPPLESS_CONSTANT_NAME(Result);
}

/// The result of an ended task; nothing if it runs at `until`. Throws its error, or `rejected`.
std::optional<bytes> wait_for_detached(const detached_key& of, const char* result_type,
                                       std::chrono::steady_clock::time_point until);

/// Not inline: one for all tasks of a signature.
template <class Result, class... Parameters, class... Args>
[[gnu::noinline]] detached_id detach_call(instance_core& core, const call_target& target,
                                          type_list<Parameters...>, const Args&... arguments) {
  heap_sink request;
  target.encode_state(request);
  encode_arguments<Parameters...>(request, as_parameter<Parameters>(arguments)...);
  return detached_id(core.detach(*target.what, result_name<Result>().text(),
                                 {request.data(), request.size()}));
}

}  // namespace detail

/// Starts `callable(arguments...)` in a process of its own, which nobody waits for and which goes on
/// when this one has ended, and returns once it runs. Local dispatchers only, inside tasks as well;
/// others throw `rejected` (Lambda keeps no result of what nobody waits for).
///
/// The process has the program's image, the environment and the working directory that this one has
/// now, no terminal, and `/dev/null` as standard input; what it prints goes to the file `log` beside
/// its result. Limits are those of `Config`: time and memory for each attempt, as many attempts as it
/// says if the process dies. Channels cannot be sent along; a shared variable has the value of
/// now, and cannot be updated.
///
/// Nothing of the request is written to disk. What is, the task's name, its output and its result, lies
/// in a folder of the user's alone: `CPPLESS_DETACHED_DIR`, else `cppless/detached` in
/// `XDG_CACHE_HOME` or `~/.cache`, on a file system of this machine. Ended tasks that nobody has
/// collected are removed 7 days later, when the next one is dispatched.
///
/// Throws `rejected` if the folder belongs to somebody else or others may enter it, or if no process
/// can be started. Costs: two processes, some milliseconds.
template <class Config = lambda::config<>, class F, class... Args>
detached_id dispatch_detached(instance& on, const F& callable, const Args&... arguments) {
  using parameters = detail::parameters_t<F, Args...>;
  using result = typename detail::result_of<F, parameters>::type;
  if constexpr (detail::is_sendable<F, parameters>) {
    return detail::detach_call<result>(*on.core(), detail::target_of<Config, parameters>(callable),
                                       parameters{}, arguments...);
  } else {
    return detached_id({});
  }
}

/// How it stands. Never blocks. Throws `rejected` if the folder cannot be trusted or read.
detached_state state_of(const detached_id& id);

/// Ends a task: it then has failed with `cancelled`. False if it is not running.
bool cancel(const detached_id& id);

/// Removes a task that has ended, with all that there is of it. False if it runs or is unknown.
bool forget(const detached_id& id);

/// The file with what the task prints, while the task is known.
std::string log_of(const detached_id& id);

namespace detail {

/// Removes a task whose result was taken; throws `rejected` if somebody else was faster.
void finish_detached(const detached_key& of);

template <class Result>
Result take_detached(const detached_key& of, const bytes& data) {
  source from(data.data(), data.size());
  if constexpr (std::is_void_v<Result>) {
    from.finish();
    finish_detached(of);
  } else {
    Result result = decode<Result>(from);
    from.finish();
    finish_detached(of);
    return result;
  }
}

}  // namespace detail

/// The task's result. Waits until it has ended, by looking every 1 to 50 ms.
///
/// A result is given once: then all that there is of the task is removed. Throws the task's error,
/// `lost`, or `rejected` for an unknown task, a damaged file, or a task whose result is of another
/// type; after these it stays until `forget`, or until it is too old.
template <class Result>
Result collect(const detached_id& id) {
  const auto data = detail::wait_for_detached(id.key(), detail::result_name<Result>().text(),
                                              std::chrono::steady_clock::time_point::max());
  return detail::take_detached<Result>(id.key(), *data);
}

/// The same, but waits at most that long. Nothing if the task runs longer: an empty `std::optional`,
/// or for one without result `false`.
template <class Result, class Rep, class Period>
auto collect_for(const detached_id& id, std::chrono::duration<Rep, Period> most) {
  const auto until = detail::deadline_after(std::chrono::steady_clock::now(), most);
  const auto data =
      detail::wait_for_detached(id.key(), detail::result_name<Result>().text(), until);
  if constexpr (std::is_void_v<Result>) {
    if (data) detail::take_detached<Result>(id.key(), *data);
    return data.has_value();
  } else {
    return data ? std::optional<Result>(detail::take_detached<Result>(id.key(), *data))
                : std::nullopt;
  }
}

}  // namespace cppless

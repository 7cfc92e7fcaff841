// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cppless {

/// Names one invocation within the instance that dispatched it. Ids are never reused. (thesis 3.2.1)
using task_id = std::uint64_t;

/// What the caller should do about a failure; the same for every dispatcher.
enum class error_kind : std::uint8_t {
  task_failed,  ///< The task itself threw or broke its memory limit: running it again gives the same.
  lost,         ///< Its worker or connection died, and so did every retry: try later or elsewhere.
  overloaded,   ///< Too much is under way: try again later, more slowly.
  timeout,      ///< It took longer than its configuration allows: raise the limit or split the work.
  rejected,     ///< It cannot work as asked (malformed or too large data, bad settings): mend it.
  cancelled,    ///< Somebody cancelled it, or the instance was closed first.
};

/// "task_failed", "lost", ...
std::string_view to_string(error_kind kind) noexcept;

/// Base of every error cppless throws. `what()` is a whole sentence with the value and the limit.
class error : public std::runtime_error {
 public:
  error(error_kind kind, const std::string& message, task_id id = 0);

  error_kind kind() const noexcept { return kind_; }

  /// The invocation that failed; 0 where the error belongs to none.
  task_id id() const noexcept { return id_; }

  /// Throws the subclass that belongs to `kind`.
  [[noreturn]] static void raise(error_kind kind, const std::string& message, task_id id = 0,
                                 const std::string& remote_type = {});

 private:
  error_kind kind_;
  task_id id_;
};

/// The task threw. `what()` carries the remote exception's `what()`.
class task_failed : public error {
 public:
  task_failed(const std::string& message, task_id id, std::string remote_type);

  /// Type of the exception as thrown in the worker, e.g. "std::out_of_range".
  const std::string& remote_type() const noexcept { return remote_type_; }

 private:
  std::string remote_type_;
};

namespace detail {
template <error_kind Kind>
class error_of_kind : public error {
 public:
  explicit error_of_kind(const std::string& message, task_id id = 0) : error(Kind, message, id) {}
};
}  // namespace detail

class lost : public detail::error_of_kind<error_kind::lost> {
 public:
  using error_of_kind::error_of_kind;
};
class overloaded : public detail::error_of_kind<error_kind::overloaded> {
 public:
  using error_of_kind::error_of_kind;
};
class timeout : public detail::error_of_kind<error_kind::timeout> {
 public:
  using error_of_kind::error_of_kind;
};
class rejected : public detail::error_of_kind<error_kind::rejected> {
 public:
  using error_of_kind::error_of_kind;
};
class cancelled : public detail::error_of_kind<error_kind::cancelled> {
 public:
  using error_of_kind::error_of_kind;
};

}  // namespace cppless

// SPDX-License-Identifier: Apache-2.0
#include <cppless/errors.hpp>

#include <utility>

namespace cppless {

std::string_view to_string(error_kind kind) noexcept {
  switch (kind) {
    case error_kind::task_failed: return "task_failed";
    case error_kind::lost: return "lost";
    case error_kind::overloaded: return "overloaded";
    case error_kind::timeout: return "timeout";
    case error_kind::rejected: return "rejected";
    case error_kind::cancelled: return "cancelled";
  }
  return "unknown";
}

error::error(error_kind kind, const std::string& message, task_id id)
    : std::runtime_error(message), kind_(kind), id_(id) {}

task_failed::task_failed(const std::string& message, task_id id, std::string remote_type)
    : error(error_kind::task_failed, message, id), remote_type_(std::move(remote_type)) {}

void error::raise(error_kind kind, const std::string& message, task_id id,
                  const std::string& remote_type) {
  switch (kind) {
    case error_kind::task_failed: throw task_failed(message, id, remote_type);
    case error_kind::lost: throw lost(message, id);
    case error_kind::overloaded: throw overloaded(message, id);
    case error_kind::timeout: throw timeout(message, id);
    case error_kind::rejected: throw rejected(message, id);
    case error_kind::cancelled: throw cancelled(message, id);
  }
  throw error(kind, message, id);
}

}  // namespace cppless

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cppless/detail/task/shared_bytes.hpp>
#include <cppless/detail/wire/json.hpp>

namespace cppless::detail {

/// A task names a shared value that this process has not met, and its request does not carry it.
class shared_value_missing : public std::exception {
 public:
  const char* what() const noexcept override { return "a shared value is not there"; }

  /// What is answered then: the host sends the request again, with the values.
  static constexpr std::string_view answer = R"({"missing":"shared values"})";
};

/// What a function is asked for: a task, and perhaps shared values that it names. While it lives,
/// what this thread decodes finds them in it. Does not own the text. docs/formats/functions.md
class runtime_request {
 public:
  /// Throws `rejected` if `body` is no request.
  explicit runtime_request(std::string_view body);
  runtime_request(const runtime_request&) = delete;
  runtime_request& operator=(const runtime_request&) = delete;
  ~runtime_request();

  /// The JSON string that holds the task.
  std::string_view task() const noexcept { return task_; }

 private:
  class directory;

  std::span<const std::byte> find(const content_key& key);

  std::string_view task_;
  json_value carried_;
  std::vector<bytes> decoded_;
  runtime_request* outer_;
};

/// A key as text: 32 hexadecimal digits.
std::string to_text(const content_key& key);

}  // namespace cppless::detail

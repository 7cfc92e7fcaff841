// SPDX-License-Identifier: Apache-2.0
#include "lambda/answer.hpp"

#include <cppless/detail/wire/binary.hpp>
#include <cppless/detail/wire/json.hpp>

#include "lambda/runtime_request.hpp"
#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

constexpr std::size_t longest_quote = 400;

// The members of a JSON object that are strings; what is no JSON object has none.
struct members {
  explicit members(std::string_view json) {
    try {
      document = parse_json(json);
    } catch (const error&) {
      document = {};
    }
  }

  std::string get(std::string_view name) const {
    for (const json_value& each : document.children) {
      if (each.name == name && each.what == json_value::type::string) {
        return json_value::resolve(each.text);
      }
    }
    return {};
  }

  json_value document;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

judgement judge_function_error(const lambda_answer& answer, const entry& of,
                               const task_limits& limits) {
  const members error(answer.body);
  const std::string type = error.get("errorType");
  const std::string what = error.get("errorMessage");
  if (type == "Sandbox.Timedout" || contains(what, "Task timed out after ")) {
    return {verdict::failed,
            {error_kind::timeout, limits.timeout_ns != 0 ? timeout_text(of.name(), limits.timeout_ns)
                                                         : "task " + std::string(of.name()) + ": " +
                                                               what}};
  }
  const bool has_exited = type == "Runtime.ExitError" || contains(what, "Runtime exited");
  if (type == "Runtime.OutOfMemory" ||
      (has_exited && (contains(what, "memory") || contains(what, "Memory")))) {
    return {verdict::failed, {error_kind::task_failed,
                              out_of_memory_text(of.name(), limits.memory_bytes), "std::bad_alloc"}};
  }
  if (has_exited) {
    return {verdict::lost,
            {error_kind::lost, "the function of task " + std::string(of.name()) + " died: " + what}};
  }
  if (type == "Function.ResponseSizeTooLarge") {
    return {verdict::failed,
            {error_kind::rejected, "the result of task " + std::string(of.name()) +
                                       " is larger than Lambda allows: " + what}};
  }
  return {verdict::failed,
          {error_kind::task_failed, failed_text(of.name(), {type.empty() ? "unknown" : type, what}),
           type}};
}

std::string quoted(const lambda_answer& answer) {
  const members error(answer.body);
  std::string message = error.get("message");
  if (message.empty()) message = error.get("Message");
  if (message.empty()) message = answer.body.substr(0, longest_quote);
  std::string text = "HTTP status " + std::to_string(answer.status);
  if (!answer.error_type.empty()) text += ", " + answer.error_type;
  if (!message.empty()) text += ": " + message;
  return text;
}

}  // namespace

void lambda_answer::clear() {
  status = 0;
  body.clear();
  error_type.clear();
  is_function_error = false;
  date.clear();
}

judgement judge(const lambda_answer& answer, const entry& of, const task_limits& limits,
                std::string_view function) {
  if (answer.status == 200 && !answer.is_function_error) {
    return {answer.body == shared_value_missing::answer ? verdict::unshared : verdict::result};
  }
  if (answer.is_function_error) return judge_function_error(answer, of, limits);
  const std::string text =
      "Lambda did not take task " + std::string(of.name()) + ": " + quoted(answer);
  const unsigned status = answer.status;
  if (status == 429) return {verdict::throttled, {error_kind::overloaded, text}};
  if (status == 503) return {verdict::throttled, {error_kind::lost, text}};
  if (status >= 500) return {verdict::unavailable, {error_kind::lost, text}};
  if (status == 403 || status == 401) return {verdict::forbidden, {error_kind::rejected, text}};
  if (status == 404) {
    return {verdict::failed,
            {error_kind::rejected, text + ". Is the function " + std::string(function) +
                                       " deployed? `cppless deploy` does it"}};
  }
  return {verdict::failed, {error_kind::rejected, text}};
}

result_head result_head::read(source& from) {
  result_head head;
  head.format = decode<std::uint8_t>(from);
  if (head.format == 0 || head.format > known_format) {
    throw rejected("the function answered in format " + std::to_string(head.format) +
                   ", this program knows formats up to " + std::to_string(known_format) +
                   ": deploy it again");
  }
  const auto flags = decode<std::uint8_t>(from);
  head.is_cold = (flags & 1) != 0;
  head.has_updates = (flags & 2) != 0;
  head.run_ns = decode<std::uint64_t>(from);
  head.peak_memory = decode<std::uint64_t>(from);
  if (head.format >= 2) head.began_ns = decode<std::uint64_t>(from);
  return head;
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "lambda/invocation.hpp"

#include <algorithm>
#include <charconv>

#include <cppless/json_binary_archive.hpp>

#include "lambda/lambda_instance.hpp"

namespace cppless::detail {
namespace {

// On the word of a server that may not keep it.
constexpr std::size_t most_reserved = 64 * 1024;

}  // namespace

invocation::invocation(lambda_instance& owner, std::unique_ptr<job> sent)
    : owner(owner),
      what(std::move(sent)),
      called(what->what),
      limits(what->limits),
      id(what->statistics.id),
      deadline_ns(what->deadline_ns),
      body(to_json_base64({what->payload.data(), what->payload.size()})),
      body_hash(sha256::of(body)) {
  what->payload.release();  // the body has it
  if (what->trace != nullptr) [[unlikely]] {
    what->trace->dispatcher = "lambda";
    what->trace->sent_bytes = body.size();
  }
}

http_request invocation::prepare() { return owner.request_of(*this); }

void invocation::on_header(std::string_view name, std::string_view value) {
  if (name == "x-amz-function-error") {
    answer.is_function_error = true;
  } else if (name == "x-amzn-errortype") {
    answer.error_type = value.substr(0, value.find(':'));
  } else if (name == "date" && answer.status == 403) {
    answer.date = value;
  } else if (name == "content-length") {
    std::size_t size = 0;
    std::from_chars(value.data(), value.data() + value.size(), size);
    answer.body.reserve(std::min(size, most_reserved));
  }
}

bool invocation::on_body(std::string_view some) {
  answer.body += some;
  // Lambda's own limit, and room for what a server of another kind adds to it.
  return answer.body.size() <= most_payload + 1024 * 1024;
}

void invocation::on_end() { owner.answered(*this); }

void invocation::on_failure(const http_failure& failure) { owner.not_answered(*this, failure); }

void invocation::reset_answer() {
  answer.status = 0;
  answer.body.clear();
  answer.error_type.clear();
  answer.is_function_error = false;
  answer.date.clear();
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "lambda/invocation.hpp"

#include <algorithm>
#include <charconv>

#include <cppless/json_binary_archive.hpp>

#include "lambda/lambda_instance.hpp"
#include "lambda/runtime_request.hpp"

namespace cppless::detail {
namespace {

// On the word of a server that may not keep it.
constexpr std::size_t most_reserved = 64 * 1024;

}  // namespace

void invoke_exchange::on_header(std::string_view name, std::string_view value) {
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

bool invoke_exchange::on_body(std::string_view some) {
  answer.body += some;
  // Lambda's own limit, and room for what a server of another kind adds to it.
  return answer.body.size() <= most_payload + 1024 * 1024;
}

invocation::invocation(lambda_instance& owner, std::unique_ptr<job> sent)
    : owner(owner),
      what(std::move(sent)),
      called(what->what),
      limits(what->limits),
      id(what->statistics.id),
      deadline_ns(what->deadline_ns),
      shared(what->shared != nullptr ? std::move(what->shared->values) : shared_uses()),
      body(to_json_base64({what->payload.data(), what->payload.size()})),
      body_hash(sha256::of(body)) {
  what->payload.release();  // the body has it
  if (what->trace != nullptr) [[unlikely]] {
    what->trace->dispatcher = "lambda";
    what->trace->sent_bytes = body.size();
  }
}

void invocation::carry_shared() {
  std::string whole = R"({"task":)" + body + R"(,"shared":{)";
  for (const auto& each : shared) {
    if (each != shared.front()) whole += ',';
    whole += '"' + to_text(each->key) + "\":" + to_json_base64(each->data);
  }
  body = std::move(whole) + "}}";
  body_hash = sha256::of(body);
  carries_shared = true;
}

http_request invocation::prepare() { return owner.request_of(*this); }

void invocation::on_end() { owner.answered(*this); }

void invocation::on_failure(const http_failure& failure) { owner.not_answered(*this, failure); }

http_request duplicate::prepare() { return of_.owner.request_of_duplicate(of_); }

void duplicate::on_end() {
  is_under_way = false;
  of_.owner.duplicate_answered(of_);
}

void duplicate::on_failure(const http_failure&) {
  is_under_way = false;
  of_.owner.duplicate_not_answered();
}

}  // namespace cppless::detail

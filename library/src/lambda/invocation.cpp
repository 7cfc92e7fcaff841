// SPDX-License-Identifier: Apache-2.0
#include "lambda/invocation.hpp"

#include <algorithm>

#include <cppless/json_binary_archive.hpp>

#include "lambda/lambda_instance.hpp"
#include "lambda/runtime_request.hpp"

namespace cppless::detail {
invocation::invocation(lambda_instance& owner, std::unique_ptr<job> sent)
    : owner(owner),
      what(std::move(sent)),
      called(what->what),
      limits(what->limits),
      id(what->statistics.id),
      deadline_ns(what->deadline_ns),
      shared(std::move(what->shared.values)),
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
  for (std::size_t at = 0; at < shared.size(); ++at) {
    const auto same = [&](const auto& other) { return other->key == shared[at]->key; };
    const auto here = shared.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::find_if(shared.begin(), here, same) != here) continue;
    if (at != 0) whole += ',';
    whole += '"' + to_text(shared[at]->key) + "\":" + to_json_base64(shared[at]->data);
  }
  body = std::move(whole) + "}}";
  body_hash = sha256::of(body);
  carries_shared = true;
}

http_request invocation::prepare() { return owner.request_of(*this); }

void invocation::on_header(std::string_view name, std::string_view value) {
  answer.take_header(name, value);
}

bool invocation::on_body(std::string_view some) { return answer.take_body(some); }

void invocation::on_end() { owner.answered(*this); }

void invocation::on_failure(const http_failure& failure) { owner.not_answered(*this, failure); }

http_request duplicate::prepare() { return of_.owner.request_of_duplicate(of_); }

void duplicate::on_header(std::string_view name, std::string_view value) {
  answer.take_header(name, value);
}

bool duplicate::on_body(std::string_view some) { return answer.take_body(some); }

void duplicate::on_end() {
  is_under_way = false;
  of_.owner.duplicate_answered(of_);
}

void duplicate::on_failure(const http_failure&) {
  is_under_way = false;
  of_.owner.duplicate_not_answered();
}

}  // namespace cppless::detail

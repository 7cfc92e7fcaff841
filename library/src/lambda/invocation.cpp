// SPDX-License-Identifier: Apache-2.0
#include "lambda/invocation.hpp"

#include <cppless/json_binary_archive.hpp>

#include "lambda/lambda_instance.hpp"

namespace cppless::detail {
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

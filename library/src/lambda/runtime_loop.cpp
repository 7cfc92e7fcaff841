// SPDX-License-Identifier: Apache-2.0
#include "lambda/runtime_loop.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cppless/detail/task/variable_state.hpp>
#include <cppless/detail/wire/binary.hpp>
#include <cppless/detail/wire/json.hpp>
#include <cppless/errors.hpp>
#include <cppless/json_binary_archive.hpp>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "lambda/function_frame.hpp"
#include "lambda/runtime_request.hpp"
#include "task/described_exception.hpp"
#include "wire/base64.hpp"

namespace cppless::detail {
namespace {

constexpr const char* invocation_path = "/2018-06-01/runtime/invocation/";

// Kept for the next request if the result was no larger; most are not.
constexpr std::size_t kept_result = std::size_t{1} << 20;

// Runs that may have changed the peak; asking the kernel costs more than a short task takes.
constexpr std::uint64_t worth_measuring_ns = 20'000;

/// Of this program. Not getrusage: its figure begins with that of the process that started us.
std::uint64_t peak_memory() noexcept {
  char text[2048];
  const file_descriptor status(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const auto size = status ? ::read(status.get(), text, sizeof text - 1) : -1;
  if (size <= 0) return 0;
  text[size] = 0;
  const char* const line = std::strstr(text, "\nVmHWM:");
  return line == nullptr ? 0 : std::strtoull(line + std::strlen("\nVmHWM:"), nullptr, 10) * 1024;
}

/// A variable of the environment that changes with each request. setenv would leak each value.
class exported_variable {
 public:
  explicit exported_variable(const char* name) noexcept
      : prefix_(static_cast<std::size_t>(std::snprintf(text_, sizeof text_, "%s=", name))) {}

  void set(std::string_view value) noexcept {
    const std::size_t size = std::min(value.size(), sizeof text_ - prefix_ - 1);
    std::memcpy(text_ + prefix_, value.data(), size);
    text_[prefix_ + size] = 0;
    if (!std::exchange(is_put_, true)) ::putenv(text_);
  }

 private:
  char text_[640];
  std::size_t prefix_;
  bool is_put_ = false;
};

void export_invocation(const runtime_reply& request) {
  static exported_variable trace("_X_AMZN_TRACE_ID"), id("CPPLESS_REQUEST_ID"),
      deadline("CPPLESS_DEADLINE_MS");
  trace.set(request.trace_id);
  id.set(request.request_id);
  deadline.set(std::to_string(request.deadline_ms));
}

// Exceptions' texts may hold any bytes, JSON and headers may not.
std::string header_text(std::string_view text) {
  constexpr std::size_t most = 256;
  std::string plain(text.substr(0, most));
  std::replace_if(plain.begin(), plain.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return plain;
}

/// How many bytes the UTF-8 character at `at` takes; 0 if there is none.
std::size_t character_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3
                           : first < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_allowed = size < 3 || !((first == 0xe0 && byte(1) < 0xa0) ||
                                        (first == 0xed && byte(1) > 0x9f) ||
                                        (first == 0xf0 && byte(1) < 0x90) ||
                                        (first == 0xf4 && byte(1) > 0x8f));
  return is_allowed ? size : 0;
}

std::string json_text(std::string_view text) {
  constexpr std::size_t most = 128 * 1024;
  std::string valid;
  for (std::size_t at = 0; at < std::min(text.size(), most);) {
    const std::size_t size = character_size(text, at);
    if (size == 0) {
      valid += "\xef\xbf\xbd";
    } else {
      valid += text.substr(at, size);
    }
    at += std::max<std::size_t>(size, 1);
  }
  return valid;
}

std::string error_body(std::string_view type, std::string_view message) {
  json_writer json;
  json.name("errorMessage");
  json.string(json_text(message));
  json.name("errorType");
  json.string(json_text(type));
  json.name("stackTrace");
  json.open();
  json.make_array();
  json.close();
  return json.release();
}

std::string error_header(std::string_view type) {
  return "Lambda-Runtime-Function-Error-Type: " + header_text(type) + "\r\n";
}

}  // namespace

runtime_loop::runtime_loop(const entry& served, std::string_view address,
                           runtime_patience patience, rank among)
    : served_(&served),
      among_(among),
      connection_(address, patience),
      is_cold_(among != rank::next) {}

void runtime_loop::run(int stop) {
  const std::string next = std::string(invocation_path) + "next";
  for (;;) {
    std::optional<runtime_reply> request;
    try {
      request = connection_.get(next, stop);
    } catch (const rejected& why) {
      const runtime_reply broken = connection_.last_reply();
      if (broken.status != 200 || broken.request_id.empty()) throw;
      answer_broken(broken, why);
      continue;
    }
    if (!request) return;
    if (request->status != 200 || request->request_id.empty()) {
      throw rejected("the Runtime API answered " + next + " with status " +
                     std::to_string(request->status) +
                     (request->request_id.empty() ? " and without a request id" : "") + ": " +
                     request->body.substr(0, 200));
    }
    serve(*request);
  }
}

// The request came to us, but not whole: whoever sent it shall not wait for its timeout.
void runtime_loop::answer_broken(const runtime_reply& request, const rejected& why) {
  answer_error(request.request_id, "Runtime.BrokenRequest", why.what());
}

void runtime_loop::serve(const runtime_reply& request) {
  if (among_ == rank::only) export_invocation(request);
  if (result_.size() > kept_result) result_.release();
  result_.clear();
  function_frame frame;
  frame.is_cold = std::exchange(is_cold_, false);
  std::optional<described_exception> thrown;
  frame.began_ns = wall_ns();
  const std::uint64_t started = now_ns();
  try {
    result_.reserve(function_frame::size);
    const runtime_request asked(request.body);
    json_base64_source payload(asked.task());
    update_scope updates;
    served_->run(payload, result_);
    frame.has_updates = !updates.log.empty();
    if (frame.has_updates) updates.log.write(result_);
  } catch (const shared_value_missing&) {
    return answer(request.request_id, shared_value_missing::answer);
  } catch (...) {
    thrown = describe_current_exception();
  }
  frame.run_ns = now_ns() - started;
  if (frame.run_ns >= worth_measuring_ns || peak_memory_ == 0) peak_memory_ = peak_memory();
  frame.peak_memory = peak_memory_;
  std::fflush(stdout);
  std::fflush(stderr);
  if (thrown) return answer_error(request.request_id, thrown->type, thrown->what);
  frame.write(result_.data());
  const std::size_t answer_size = base64_size(result_.size()) + 2;
  if (answer_size > most_lambda_payload) {
    return answer_error(request.request_id, "Function.ResponseSizeTooLarge",
                        "the result of " + std::to_string(result_.size() - function_frame::size) +
                            " bytes takes " + std::to_string(answer_size) +
                            " bytes on its way, the limit is " +
                            std::to_string(most_lambda_payload));
  }
  answer(request.request_id, to_json_base64({result_.data(), result_.size()}));
}

void runtime_loop::answer(std::string_view request_id, std::string_view result) {
  post(invocation_path + std::string(request_id) + "/response", {}, result);
}

void runtime_loop::answer_error(std::string_view request_id, std::string_view type,
                                std::string_view message) {
  post(invocation_path + std::string(request_id) + "/error", error_header(type),
       error_body(type, message));
}

void runtime_loop::post(const std::string& path, std::string_view headers, std::string_view body) {
  const runtime_reply reply = connection_.post(path, headers, body);
  if (reply.status >= 500) {
    throw rejected("the Runtime API answered " + path + " with status " +
                   std::to_string(reply.status) + ": " + reply.body.substr(0, 200));
  }
  if (reply.status >= 300) {  // nobody waits for this answer any more
    std::fprintf(stderr, "cppless: %s was refused with status %u: %.200s\n", path.c_str(),
                 reply.status, reply.body.c_str());
  }
}

void report_init_error(std::string_view address, std::string_view type, std::string_view message) {
  try {
    runtime_connection(address).post("/2018-06-01/runtime/init/error", error_header(type),
                                     error_body(type, message));
  } catch (const rejected&) {
    // It is on its way down, and standard error has the reason.
  }
}

}  // namespace cppless::detail

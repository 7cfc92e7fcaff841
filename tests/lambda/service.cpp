// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <vector>

#include <cppless/json_binary_archive.hpp>

#include "lambda/runtime_request.hpp"
#include "lambda/signature.hpp"
#include "task/described_exception.hpp"

namespace test {
namespace {

using namespace cppless::detail;

void set(const std::string& name, const std::string& value) {
  if (value.empty()) {
    ::unsetenv(name.c_str());
  } else {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
}

std::string http_date(std::time_t at) {
  char text[64];
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

std::string write_file(const std::string& text) {
  if (text.empty()) return {};
  char path[] = "/tmp/cppless-test-XXXXXX";
  const int descriptor = ::mkstemp(path);
  std::ofstream(path) << text;
  ::close(descriptor);
  return path;
}

std::string json_text(const std::string& plain) {
  std::string text = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return text + '"';
}

}  // namespace

environment::environment(std::map<std::string, std::string> variables) {
  for (const auto& [name, value] : variables) {
    const char* const old = std::getenv(name.c_str());
    before_[name] = old == nullptr ? "" : old;
    set(name, value);
  }
}

environment::~environment() {
  for (const auto& [name, value] : before_) set(name, value);
}

service::service(http_server::options options, spoiler spoil)
    : spoil_(std::move(spoil)),
      ca_bundle_(write_file(options.tls ? options.tls->pem : "")),
      environment_({{"AWS_ACCESS_KEY_ID", std::string(access_key_id)},
                    {"AWS_SECRET_ACCESS_KEY", std::string(secret_access_key)},
                    {"AWS_EC2_METADATA_DISABLED", "true"},
                    {"AWS_REGION", "eu-west-1"}}),
      server_(std::move(options), [this](const request& asked, const reply& answered) {
        answered(respond(asked));
      }) {}

cppless::aws_lambda_options service::client_options() const {
  cppless::aws_lambda_options options;
  options.endpoint = url();
  options.ca_bundle = ca_bundle_;
  return options;
}

answer service::respond(const request& asked) {
  const unsigned number = requests_++;
  if (auto refusal = check_signature(asked)) return *refusal;
  if (spoil_) {
    if (auto spoilt = spoil_(number, asked)) {
      if (spoilt->spoilt == fault::go_away_after || spoilt->spoilt == fault::truncate ||
          (spoilt->spoilt == fault::none && spoilt->status == 0)) {
        ++runs_;
        answer run = run_entry(asked);
        run.spoilt = spoilt->spoilt;
        run.delay = spoilt->delay;
        return run;
      }
      return *spoilt;
    }
  }
  ++runs_;
  return run_entry(asked);
}

std::optional<answer> service::check_signature(const request& asked) const {
  const auto header = [&](const std::string& name) {
    const auto found = asked.headers.find(name);
    return found == asked.headers.end() ? std::string() : found->second;
  };
  const std::time_t now = std::time(nullptr) + skew_seconds;
  const auto refuse = [&](const std::string& type, const std::string& why) {
    answer refusal = lambda_error(403, type, why);
    refusal.headers.emplace_back("Date", http_date(now));
    return refusal;
  };
  const auto said = parse_authorization(header("authorization"));
  if (!said) return refuse("IncompleteSignatureException", header("authorization"));
  std::vector<header_view> headers;
  for (const std::string& name : said->signed_headers) {
    headers.push_back({name, asked.headers.find(name) == asked.headers.end()
                                 ? std::string_view()
                                 : std::string_view(asked.headers.at(name))});
  }
  const hex_digest hash = to_hex(sha256::of(asked.body));
  const std::string right = signature_of({asked.method, asked.path, "", headers}, view(hash),
                                         secret_access_key, header("x-amz-date"), said->scope);
  const std::string token = header("x-amz-security-token");
  if (token != session_token && std::find(expired_tokens.begin(), expired_tokens.end(), token) != expired_tokens.end()) {
    return refuse("ExpiredTokenException", "The security token included in the request is expired");
  }
  if (said->access_key_id != access_key_id || token != session_token) {
    return refuse("UnrecognizedClientException", "The security token is invalid.");
  }
  if (!is_same_signature(said->signature, right)) {
    return refuse("InvalidSignatureException", "The signature does not match.");
  }
  const auto date = parse_amazon_date(header("x-amz-date"));
  if (!date || std::abs(std::chrono::system_clock::to_time_t(*date) - now) > 300) {
    return refuse("InvalidSignatureException", "Signature expired.");
  }
  return std::nullopt;
}

answer run_entry(const request& asked) {
  const std::size_t at = asked.path.rfind("/invocations");
  if (at == std::string::npos || at < 16 || asked.method != "POST") {
    return lambda_error(404, "ResourceNotFoundException", asked.method + ' ' + asked.path);
  }
  const auto identity = std::stoull(asked.path.substr(at - 16, 16), nullptr, 16);
  const entry* const called = find_entry(identity);
  if (called == nullptr) return lambda_error(404, "ResourceNotFoundException", "no such function");
  heap_sink result;
  result.write("\1\1", 2);
  const std::uint64_t numbers[] = {1000, 4096};
  result.write(numbers, sizeof numbers);
  try {
    const runtime_request wanted(asked.body);
    json_base64_source input(wanted.task());
    std::vector<std::byte> bytes(input.remaining());
    input.read(bytes.data(), bytes.size());
    source request(bytes.data(), bytes.size());
    called->run(request, result);
  } catch (const shared_value_missing&) {
    answer missing;
    missing.body = shared_value_missing::answer;
    return missing;
  } catch (...) {
    const described_exception thrown = describe_current_exception();
    return function_error(thrown.type, thrown.what);
  }
  answer given;
  given.body = to_json_base64({result.data(), result.size()});
  return given;
}

answer lambda_error(unsigned status, const std::string& type, const std::string& message) {
  answer error;
  error.status = status;
  error.headers = {{"x-amzn-ErrorType", type + ":http://internal.amazon.com/"}};
  error.body = "{\"Type\":\"User\",\"message\":" + json_text(message) + "}";
  return error;
}

answer function_error(const std::string& type, const std::string& message) {
  answer error;
  error.headers = {{"X-Amz-Function-Error", "Unhandled"}};
  error.body = "{\"errorMessage\":" + json_text(message) + ",\"errorType\":" + json_text(type) +
               ",\"stackTrace\":[]}";
  return error;
}

}  // namespace test

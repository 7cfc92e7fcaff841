// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <cppless/json_binary_archive.hpp>
#include <cppless/shared.hpp>

#include <string_view>

#include "http/url.hpp"
#include "lambda/answer.hpp"
#include "lambda/credentials.hpp"
#include "lambda/runtime_request.hpp"
#include "lambda/shared_config.hpp"
#include "lambda/signature.hpp"

/// What the Lambda dispatcher and its functions read that others wrote: answers, requests, credentials, the shared files, URLs,
/// Authorization headers.
namespace {

using namespace cppless::detail;

const entry called{nullptr, nullptr, {"task", nullptr}, {"task ()", nullptr}, {}};

void check_answer(std::string_view text) {
  lambda_answer answer;
  answer.status = text.empty() ? 200 : 200 + static_cast<unsigned char>(text.front()) * 2;
  answer.is_function_error = text.size() % 2 == 0;
  answer.body = text;
  const judgement judged = judge(answer, called, {}, "function");
  const bool is_failure = judged.what != verdict::result && judged.what != verdict::unshared;
  if (is_failure == judged.reason.message.empty()) {
    fuzz::fail("a failure without a reason, or a result with one");
  }
  try {
    json_base64_source bytes(text);
    if (result_head::read(bytes).format > result_head::known_format) fuzz::fail("unknown format");
  } catch (const cppless::rejected&) {
  }
}

// What a function reads: a request of a task that takes a shared value.
void check_request(std::string_view text) {
  try {
    const runtime_request asked(text);
    json_base64_source payload(asked.task());
    (void)decode<cppless::shared_value<std::string>>(payload);
  } catch (const shared_value_missing&) {
  }
}

void check_path(std::string_view text) {
  const std::string once = canonical_request({"GET", text, text, {}}, "");
  if (once.find("/../") != std::string::npos) fuzz::fail("a path that leads out");
  if (const auto said = parse_authorization(text)) {
    if (said->signature.size() != 64 || said->scope.day.size() != 8) fuzz::fail("half a header");
  }
  if (const auto date = parse_amazon_date(text); date && amazon_date(*date).size() != 16) {
    fuzz::fail("a date that cannot be written");
  }
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  return {"\1{\"errorMessage\": \"no \\u0041\", \"errorType\": \"std::out_of_range\"}",
          "\1{\"Type\": \"User\", \"message\": \"Rate exceeded\"}",
          "\1\"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\"",
          "\2{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"B\", \"Token\": \"C\", \"Expiration\": "
          "\"2030-01-02T03:04:05.123Z\"}",
          "\3[default]\nregion = x # y\n[profile ci]\naws_access_key_id=A\ns3 =\n  nested = 1\n",
          "\4https://user@[::1]:8443/path?query#fragment",
          "\5/a/../b//c%20d?x=y&x=a%2",
          "\5AWS4-HMAC-SHA256 Credential=A/20150830/us-east-1/lambda/aws4_request, "
          "SignedHeaders=host;x-amz-date, Signature="
          "0123456789012345678901234567890123456789012345678901234567890123",
          "\00520150830T123600Z",
          "\6{\"task\":\"AQEAAAAAAAAAAAAAAAAAAAAAAwAAAAAAAAAAAAAAAAAAAA==\",\"shared\":{"
          "\"00000000000000000000000000000000\":\"AwAAAAAAAABhYmM=\"}}",
          "\6\"AQAAAAAAAAAAAAAAAAAAAAAAAQsAAAAAAAAAAwAAAAAAAABhYmM=\""};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    switch (kind % 7) {
      case 1: return check_answer(text);
      case 2: parse_credentials(text); return;
      case 3: parse_config(text); return;
      case 4:
        if (const http_url url = parse_url(text); url.origin.host.empty() || url.path[0] != '/') {
          fail("a URL without host or path");
        }
        return;
      case 5: return check_path(text);
      case 6: return check_request(text);
      default: return;
    }
  } catch (const cppless::rejected&) {
  }
}

}  // namespace fuzz

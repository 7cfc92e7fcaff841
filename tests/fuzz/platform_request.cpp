// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include "api/arn.hpp"
#include "api/configuration.hpp"
#include "api/error.hpp"
#include "api/signature.hpp"
#include "api/uri.hpp"
#include "state/credentials.hpp"

#include <boost/asio/io_context.hpp>

/// What requests to the platform carry: JSON bodies, function names, Authorization headers. An error
/// of the API's is the only way to refuse; no made-up signature is ever right.
namespace {

using namespace platform;

void settings(const std::string& body) {
  state::function_version version;
  api::apply_settings(api::parse_object(body), version);
  if (version.memory_mb < 128 || version.memory_mb > 10240 || version.timeout_seconds > 900) fuzz::fail("a setting out of range");
  for (const auto& [name, value] : version.environment)
    if (name.find('=') != name.npos || value.find('\0') != value.npos) fuzz::fail("a variable that is none");
  (void)api::describe({}, "f", version, true).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void reference(const std::string& text) {
  auto found = api::parse_reference(text, {});
  api::add_qualifier(found, api::query_value(text, "Qualifier"));
  if (!api::is_function_name(found.name)) fuzz::fail("a name that is none");
}

void signature(const std::string& text) {
  static const api::access_key key{"AKIA", "a secret nobody knows", {}, {}};
  static api::verifier check("us-east-1", [](std::string_view) { return &key; });
  http::request message;
  message.method = "POST";
  const auto line = text.find('\n');
  message.target = "/" + text.substr(line == text.npos ? text.size() : line);
  message.headers = {{"authorization", text.substr(0, line)}, {"host", "x"}, {"x-amz-date", "20150830T123600Z"}};
  check.verify(message, std::chrono::system_clock::from_time_t(1440938160));
  fuzz::fail("a signature that nobody made");
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  return {std::string(1, '\0') + R"({"MemorySize":512,"Timeout":3,"Environment":{"Variables":{"A1":"b"}},"Architectures":["x86_64"],"Role":"arn:aws:iam::000000000000:role/r"})",
          "\1arn:aws:lambda:us-east-1:000000000000:function:name:live", "\1name?Qualifier=live",
          "\2AWS4-HMAC-SHA256 Credential=AKIA/20150830/us-east-1/lambda/aws4_request, SignedHeaders=host;x-amz-date, "
          "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7\na%20b?c=d&e",
          "\3[default]\naws_access_key_id = a\naws_secret_access_key = b\n"};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    switch (kind % 4) {
      case 0: return settings(text);
      case 1: return reference(text);
      case 2: return signature(text);
      case 3: return void(state::parse_credentials(text));
    }
  } catch (const api::error&) {
  }
}

}  // namespace fuzz

// SPDX-License-Identifier: Apache-2.0
#include "api/signature.hpp"

#include "api/uri.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace platform::api {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";
constexpr auto clock_skew = std::chrono::minutes(5);
constexpr std::size_t derived_at_most = 4096;

[[noreturn]] void incomplete(const std::string& message) { throw error(403, "IncompleteSignatureException", message); }
[[noreturn]] void invalid(const std::string& message) { throw error(403, "InvalidSignatureException", message); }

std::string_view take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  const std::string_view head = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return head;
}

std::string_view view(const state::sha256_digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// As canonical headers want it: no blanks around, one where there were several.
void append_trimmed(std::string& to, std::string_view value) {
  bool blank = false;
  bool any = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      blank = any;
      continue;
    }
    if (blank) to += ' ';
    blank = false;
    any = true;
    to += c;
  }
}

/// Seconds since 1970 of "20150830T123600Z"; nothing if it is something else.
std::optional<std::time_t> parse_time(std::string_view text) {
  std::tm parts{};
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < 15; ++i)
    if (i != 8 && (text[i] < '0' || text[i] > '9')) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    for (std::size_t i = at; i < at + size; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(4, 2) - 1;
  parts.tm_mday = number(6, 2);
  parts.tm_hour = number(9, 2);
  parts.tm_min = number(11, 2);
  parts.tm_sec = number(13, 2);
  return ::timegm(&parts);
}

std::string format_time(std::time_t time) {
  char text[17];
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

void check_time(std::string_view stamp, std::chrono::system_clock::time_point now) {
  const auto signed_at = parse_time(stamp);
  if (!signed_at) incomplete("Date must be in ISO-8601 'basic format'. Got '" + std::string(stamp.substr(0, 64)) + "'.");
  const auto skew = std::chrono::seconds(clock_skew).count();
  const std::time_t time = std::chrono::system_clock::to_time_t(now);
  if (*signed_at < time - skew)
    invalid("Signature expired: " + std::string(stamp) + " is now earlier than " + format_time(time - skew) + " (" +
            format_time(time) + " - 5 min.)");
  if (*signed_at > time + skew)
    invalid("Signature not yet current: " + std::string(stamp) + " is still later than " + format_time(time + skew) +
            " (" + format_time(time) + " + 5 min.)");
}

std::string payload_hash(const http::request& message, const std::string& service) {
  const std::string_view claimed = message.find("x-amz-content-sha256");
  if (service == "s3" && !claimed.empty() && (claimed == "UNSIGNED-PAYLOAD" || claimed.starts_with("STREAMING-")))
    return std::string(claimed);
  std::string real = state::hex(state::sha256(message.body));
  if (!claimed.empty() && claimed != real)
    invalid("The provided 'x-amz-content-sha256' header does not match what was computed.");
  return real;
}

}  // namespace

authorization parse_authorization(std::string_view header) {
  const auto blank = header.find(' ');
  if (header.substr(0, blank) != algorithm || blank == header.npos)
    incomplete("Unsupported AWS 'algorithm': '" + std::string(header.substr(0, std::min<std::size_t>(blank, 64))) + "'.");
  authorization by;
  bool credential = false;
  for (std::string_view rest = header.substr(blank + 1); !rest.empty();) {
    std::string_view part = take_until(rest, ',');
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::string_view name = take_until(part, '=');
    if (name == "Credential") {
      credential = true;
      by.key_id = take_until(part, '/');
      by.date = take_until(part, '/');
      by.region = take_until(part, '/');
      by.service = take_until(part, '/');
      if (part != "aws4_request" || by.key_id.empty() || by.date.size() != 8)
        incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.");
    } else if (name == "SignedHeaders") {
      while (!part.empty()) by.signed_headers.emplace_back(take_until(part, ';'));
    } else if (name == "Signature") {
      by.signature = part;
    }
  }
  if (!credential) incomplete("Authorization header requires 'Credential' parameter.");
  if (by.signature.empty()) incomplete("Authorization header requires 'Signature' parameter.");
  if (by.signed_headers.empty()) incomplete("Authorization header requires 'SignedHeaders' parameter.");
  if (by.signed_headers.size() > 100) incomplete("Authorization header has too many 'SignedHeaders'.");
  return by;
}

std::string canonical_request(const http::request& message, const authorization& by, std::string_view hash) {
  std::string text = message.method;
  text += '\n';
  text += by.service == "s3" ? std::string(message.path()) : encode_uri(message.path(), keep_slashes::yes);
  text += '\n';
  std::vector<std::pair<std::string, std::string>> query;
  for (std::string_view rest = message.query(); !rest.empty();) {
    std::string_view value = take_until(rest, '&');
    const std::string_view name = take_until(value, '=');
    if (name.empty() && value.empty()) continue;
    query.emplace_back(encode_uri(decode_uri(name), keep_slashes::no), encode_uri(decode_uri(value), keep_slashes::no));
  }
  std::sort(query.begin(), query.end());
  for (const auto& [name, value] : query) {
    if (&name != &query.front().first) text += '&';
    text += name + "=" + value;
  }
  text += '\n';
  std::string names;
  for (const std::string& name : by.signed_headers) {
    text += name;
    text += ':';
    bool first = true;
    for (const http::header& each : message.headers) {
      if (each.name != name) continue;
      if (!std::exchange(first, false)) text += ',';
      append_trimmed(text, each.value);
    }
    text += '\n';
    if (!names.empty()) names += ';';
    names += name;
  }
  text += '\n';
  text += names;
  text += '\n';
  text += hash;
  return text;
}

const state::sha256_digest& verifier::signing_key(const authorization& by, const access_key& key) {
  if (derived_.size() >= derived_at_most) derived_.clear();
  const std::string name = key.id + "/" + by.date + "/" + by.region + "/" + by.service;
  const auto [found, fresh] = derived_.try_emplace(name);
  if (fresh) {
    auto step = state::hmac_sha256("AWS4" + key.secret, by.date);
    step = state::hmac_sha256(view(step), by.region);
    step = state::hmac_sha256(view(step), by.service);
    found->second = state::hmac_sha256(view(step), "aws4_request");
  }
  return found->second;
}

verifier::verified verifier::verify(const http::request& message, std::chrono::system_clock::time_point now) {
  const std::string_view header = message.find("authorization");
  if (header.empty()) throw error(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  const authorization by = parse_authorization(header);
  const access_key* key = keys_(by.key_id);
  if (key == nullptr) throw error(403, "UnrecognizedClientException", "The security token included in the request is invalid.");
  if (!key->token.empty() && message.find("x-amz-security-token") != key->token)
    throw error(403, "UnrecognizedClientException", "The security token included in the request is invalid.");

  const std::string_view stamp = message.find("x-amz-date");
  if (stamp.empty()) incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
  if (stamp.substr(0, 8) != by.date)
    invalid("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" + by.date +
            "' != '" + std::string(stamp.substr(0, 8)) + "', from '" + std::string(stamp) + "'.");
  // IAM is one for all regions and signed as us-east-1.
  if (by.region != region_ && !(by.service == "iam" && by.region == "us-east-1"))
    invalid("Credential should be scoped to a valid region. ");
  for (const char* must : {"host", "x-amz-date"})
    if (std::find(by.signed_headers.begin(), by.signed_headers.end(), must) == by.signed_headers.end())
      invalid(std::string("'") + must + "' must be a 'SignedHeader' in the AWS Authorization.");
  if (message.has("x-amz-security-token") &&
      std::find(by.signed_headers.begin(), by.signed_headers.end(), "x-amz-security-token") == by.signed_headers.end())
    invalid("'X-Amz-Security-Token' must be a 'SignedHeader' in the AWS Authorization.");
  check_time(stamp, now);

  const std::string canonical = canonical_request(message, by, payload_hash(message, by.service));
  std::string to_sign(algorithm);
  to_sign += '\n';
  to_sign += stamp;
  to_sign += '\n' + by.date + '/' + by.region + '/' + by.service + "/aws4_request\n" + state::hex(state::sha256(canonical));
  const std::string expected = state::hex(state::hmac_sha256(view(signing_key(by, *key)), to_sign));
  if (expected.size() != by.signature.size() || CRYPTO_memcmp(expected.data(), by.signature.data(), expected.size()) != 0)
    invalid("The request signature we calculated does not match the signature you provided. Check your AWS Secret Access "
            "Key and signing method. Consult the service documentation for details.");
  return {key, by.service};
}

}  // namespace platform::api

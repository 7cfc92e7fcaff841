// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <cppless/detail/wire/json.hpp>
#include <cppless/errors.hpp>

#include "lambda/credentials.hpp"

namespace cppless::detail {
namespace {

using std::chrono::seconds;

// "2030-01-02T03:04:05Z", with or without a fraction.
std::optional<wall_time> parse_expiration(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z') return std::nullopt;
  std::string compact;
  for (const char c : text.substr(0, 19)) {
    if (c != '-' && c != ':') compact += c;
  }
  return parse_amazon_date(compact + 'Z');
}

}  // namespace

aws_credentials parse_credentials(std::string_view json) {
  const json_value document = parse_json(json);
  aws_credentials found;
  std::string expiration;
  for (const json_value& member : document.children) {
    if (member.what != json_value::type::string) continue;
    const std::string value = json_value::resolve(member.text);
    if (member.name == "AccessKeyId") found.access_key_id = value;
    if (member.name == "SecretAccessKey") found.secret_access_key = value;
    if (member.name == "Token") found.session_token = value;
    if (member.name == "Expiration") expiration = value;
  }
  if (document.what != json_value::type::object || found.access_key_id.empty() ||
      found.secret_access_key.empty()) {
    throw rejected("what the credential endpoint sent has no AccessKeyId and SecretAccessKey");
  }
  if (!expiration.empty()) {
    found.expires = parse_expiration(expiration);
    if (!found.expires) {
      throw rejected("the credential endpoint's Expiration is no time: '" + expiration + "'");
    }
  }
  return found;
}

wall_time renewal_time(const aws_credentials& credentials, wall_time now) {
  const wall_time expires = credentials.expires.value_or(wall_time::max());
  if (expires == wall_time::max()) return expires;
  const auto left = expires - now;
  return std::max<wall_time>(now + seconds(10), expires - std::min<wall_time::duration>(
                                                              std::chrono::minutes(5), left / 4));
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "http/url.hpp"

#include <openssl/evp.h>

#include <charconv>
#include <cstdlib>
#include <vector>

#include <cppless/errors.hpp>

namespace cppless::detail {
namespace {

[[noreturn]] void malformed(std::string_view text, const char* why) {
  throw rejected("'" + std::string(text) + "' is not a URL to send requests to: " + why);
}

std::string variable(const char* upper, const char* lower) {
  for (const char* name : {upper, lower}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

std::string base64(std::string_view text) {
  std::vector<unsigned char> encoded((text.size() + 2) / 3 * 4 + 1);
  const int size = ::EVP_EncodeBlock(encoded.data(),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(size)};
}

// NO_PROXY: names and endings of names, separated by commas; "*" is all.
bool goes_without_proxy(std::string_view host) {
  const std::string list = variable("NO_PROXY", "no_proxy");
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view each = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    while (!each.empty() && each.front() == ' ') each.remove_prefix(1);
    while (!each.empty() && each.back() == ' ') each.remove_suffix(1);
    if (each == "*" || each == host) return true;
    if (each.empty()) continue;
    if (each.front() == '.') each.remove_prefix(1);
    if (host == each) return true;
    if (host.size() > each.size() && host.ends_with(each) &&
        host[host.size() - each.size() - 1] == '.') {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string http_origin::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : '[' + host + ']';
  if (port != (is_tls ? 443 : 80)) text += ':' + std::to_string(port);
  return text;
}

std::string http_origin::text() const {
  return (is_tls ? "https://" : "http://") +
         (host.find(':') == std::string::npos ? host : '[' + host + ']') + ':' +
         std::to_string(port);
}

http_url parse_url(std::string_view text) {
  http_url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.origin.is_tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    malformed(text, "it begins neither with http:// nor with https://");
  }
  for (const char c : rest) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) malformed(text, "it has a space in it");
  }
  const std::size_t path = rest.find_first_of("/?#");
  url.path = path == std::string_view::npos ? "/" : rest.substr(path);
  if (url.path.front() != '/') url.path.insert(0, "/");
  if (const std::size_t fragment = url.path.find('#'); fragment != std::string::npos) {
    url.path.resize(fragment);
  }
  std::string_view authority = rest.substr(0, path);
  if (authority.find('@') != std::string_view::npos) malformed(text, "it has a user name in it");
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) malformed(text, "a bracket is not closed");
    url.origin.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const std::size_t colon = authority.find(':');
    url.origin.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.origin.host.empty()) malformed(text, "it names no host");
  url.origin.port = url.origin.is_tls ? 443 : 80;
  if (!port.empty()) {
    const char* const end = port.data() + port.size();
    const auto [at, error] = std::from_chars(port.data() + 1, end, url.origin.port);
    if (port.front() != ':' || at != end || error != std::errc{} || url.origin.port == 0) {
      malformed(text, "its port is not a number from 1 to 65535");
    }
  }
  return url;
}

std::optional<http_proxy> proxy_for(const http_origin& origin) {
  if (!origin.is_tls || goes_without_proxy(origin.host)) return std::nullopt;
  std::string text = variable("HTTPS_PROXY", "https_proxy");
  if (text.empty()) return std::nullopt;
  if (text.find("://") == std::string::npos) text.insert(0, "http://");
  http_proxy proxy;
  if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
    const std::size_t user = text.find("://") + 3;
    proxy.authorization = "Basic " + base64(std::string_view(text).substr(user, at - user));
    text.erase(user, at + 1 - user);
  }
  const http_url url = parse_url(text);
  if (url.origin.is_tls) {
    throw rejected("HTTPS_PROXY='" + text + "': a proxy that is itself reached through TLS is not "
                   "supported: give its http:// address");
  }
  proxy.host = url.origin.host;
  proxy.port = url.origin.port;
  return proxy;
}

}  // namespace cppless::detail

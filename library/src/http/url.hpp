// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cppless::detail {

/// Where a server is.
struct http_origin {
  bool is_tls = false;
  std::string host;  ///< Name or address, IPv6 without brackets.
  std::uint16_t port = 0;

  /// Value of the Host header: without the port where it is the scheme's own.
  std::string authority() const;
  /// For people: "https://host:443".
  std::string text() const;
};

struct http_url {
  http_origin origin;
  std::string path;  ///< Begins with '/', query included.
};

/// Throws `rejected` unless `text` is "http://" or "https://" with host, optional port and path.
http_url parse_url(std::string_view text);

/// A proxy that is asked with CONNECT.
struct http_proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string authorization;  ///< Value of Proxy-Authorization; empty: none.
};

/// What HTTPS_PROXY (or https_proxy) and NO_PROXY say of this origin. Plain http:// origins are
/// always reached directly. Throws `rejected` if HTTPS_PROXY is malformed.
std::optional<http_proxy> proxy_for(const http_origin& origin);

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace platform::http {

struct header {
  std::string name;  ///< in lower case
  std::string value;
};

struct request {
  std::string method;
  std::string target;  ///< as sent: path and query, still percent-encoded
  std::vector<header> headers;
  std::string body;
  bool body_too_large = false;  ///< longer than `service::body_limit` said; not kept
  bool encrypted = false;

  /// The first value of a header (name in lower case), "" if there is none.
  std::string_view find(std::string_view name) const {
    for (const header& each : headers)
      if (each.name == name) return each.value;
    return {};
  }
  bool has(std::string_view name) const {
    for (const header& each : headers)
      if (each.name == name) return true;
    return false;
  }
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  std::string_view query() const {
    const auto at = target.find('?');
    return at == std::string::npos ? std::string_view() : std::string_view(target).substr(at + 1);
  }
};

struct response {
  unsigned status = 200;
  std::vector<header> headers;
  std::string body;
};

/// Called once with the answer, from the I/O thread, at once or later. Not calling it and letting the
/// last copy go closes the connection (HTTP/2: resets the stream).
using responder = std::function<void(response)>;

/// What answers requests. Connections keep it alive.
class service {
 public:
  virtual ~service() = default;
  /// The longest body that is kept for a request with this method and target.
  virtual std::size_t body_limit(const request& head) const = 0;
  virtual void serve(request message, responder respond) = 0;
};

const char* reason_phrase(unsigned status);

}  // namespace platform::http

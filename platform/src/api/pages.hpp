// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/front.hpp"
#include "execution/fleet.hpp"
#include "sandbox/protocol.hpp"
#include "state/account.hpp"

#include <string>

namespace platform::api {

/// What a browser sees (/), the numbers behind it (/.cppless/status), whether the server lives
/// (/.cppless/health), and functions' code for who got an address from GetFunction (/.cppless/code/...).
class pages {
 public:
  pages(const state::account& account, const execution::fleet& fleet, const sandbox::abilities& can, const key_ring& keys);
  bool serve(const http::request& message, http::responder& respond) const;
  /// An address under which this code can be downloaded for ten minutes.
  std::string code_location(const std::string& sha256) const;
  unsigned short port = 0;

 private:
  std::string status() const;
  http::response code(const http::request& message) const;
  const state::account& account_;
  const execution::fleet& fleet_;
  const sandbox::abilities& can_;
  std::string secret_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace platform::api

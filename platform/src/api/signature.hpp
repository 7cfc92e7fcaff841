// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/error.hpp"
#include "http/message.hpp"
#include "state/digest.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace platform::api {

/// The parts of an `Authorization: AWS4-HMAC-SHA256 ...` header.
struct authorization {
  std::string key_id, date, region, service, signature;
  std::vector<std::string> signed_headers;
};

/// Throws IncompleteSignatureException (as AWS words it) if a part is missing or malformed.
authorization parse_authorization(std::string_view header);

/// An access key that requests may be signed with.
struct access_key {
  std::string id;
  std::string secret;
  std::string token;     ///< required as X-Amz-Security-Token unless empty
  std::string function;  ///< set: it was given to this function and may only invoke
};

/// Checks Signature Version 4. Services but S3 encode the path twice.
class verifier {
 public:
  using lookup = std::function<const access_key*(std::string_view id)>;
  verifier(std::string region, lookup keys) : region_(std::move(region)), keys_(std::move(keys)) {}

  struct verified {
    const access_key* key;
    std::string service;
  };
  /// Throws the error AWS would answer with. `now` is Unix time.
  verified verify(const http::request& message, std::chrono::system_clock::time_point now);

 private:
  const state::sha256_digest& signing_key(const authorization& by, const access_key& key);
  std::string region_;
  lookup keys_;
  std::unordered_map<std::string, state::sha256_digest> derived_;
};

/// Exposed for tests: the canonical request of `message`.
std::string canonical_request(const http::request& message, const authorization& by, std::string_view payload_hash);

}  // namespace platform::api

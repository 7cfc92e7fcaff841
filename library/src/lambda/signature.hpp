// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lambda/sha256.hpp"

/// AWS Signature Version 4: for the client, which signs, and for a server, which verifies.

namespace cppless::detail {

using wall_time = std::chrono::system_clock::time_point;

/// "20150830T123600Z"; its first eight characters are the day.
std::string amazon_date(wall_time at);
/// The time such a text stands for, if it is one.
std::optional<wall_time> parse_amazon_date(std::string_view text);

struct header_view {
  std::string_view name;  ///< In any case.
  std::string_view value;
};

/// What is signed of a request.
struct signable_request {
  std::string_view method;
  std::string_view path;   ///< As in the request line, percent-encoded once; without the query.
  std::string_view query;  ///< As in the request line, without '?'.
  std::span<const header_view> headers;  ///< Those that are signed, in any order, `host` among them.
};

/// What services other than S3 sign: the path without "." and "..", percent-encoded once more.
enum class path_rule { normalized_and_encoded_twice, as_it_is };

/// "content-type;host;x-amz-date"
std::string signed_header_names(std::span<const header_view> headers);

/// The canonical request. `body_sha256` is the hash in hexadecimal digits, or what the header
/// x-amz-content-sha256 says in its place.
std::string canonical_request(const signable_request& request, std::string_view body_sha256,
                              path_rule rule = path_rule::normalized_and_encoded_twice);

struct signing_scope {
  std::string day;  ///< "20150830"
  std::string region;
  std::string service;

  /// "20150830/us-east-1/lambda/aws4_request"
  std::string text() const { return day + '/' + region + '/' + service + "/aws4_request"; }
};

/// The derived key: valid for one UTC day, region and service.
hmac_sha256_key derive_signing_key(std::string_view secret_access_key, const signing_scope& scope);

/// `date`: as `amazon_date` writes it.
std::string string_to_sign(std::string_view date, const signing_scope& scope,
                           std::string_view canonical_request);

/// The signature of a request, from its parts; the slow and plain way.
std::string signature_of(const signable_request& request, std::string_view body_sha256,
                         std::string_view secret_access_key, std::string_view date,
                         const signing_scope& scope,
                         path_rule rule = path_rule::normalized_and_encoded_twice);

/// What a header `Authorization: AWS4-HMAC-SHA256 ...` says.
struct authorization {
  std::string access_key_id;
  signing_scope scope;
  std::vector<std::string> signed_headers;  ///< Lower case, in their order.
  std::string signature;
};

/// nullopt if `header` is no well-formed one of AWS4-HMAC-SHA256.
std::optional<authorization> parse_authorization(std::string_view header);

/// Compares without telling by its time where the first difference is.
bool is_same_signature(std::string_view one, std::string_view other) noexcept;

struct aws_credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;          ///< Empty: none.
  std::optional<wall_time> expires;  ///< nullopt: never.
};

/// Signs many requests quickly: keeps the day's key, and of each kind of request the hash of all
/// that precedes the body's. Not thread-safe.
class request_signer {
 public:
  /// What requests have in common that differ in nothing but their bodies and dates. `headers` are
  /// signed beside x-amz-date and x-amz-security-token; `host` must be among them.
  class kind {
   public:
    kind(std::string_view method, std::string_view path, std::vector<header_view> headers);

   private:
    friend class request_signer;
    void prepare(const request_signer& signer);

    std::string method_;
    std::string path_;
    std::vector<std::pair<std::string, std::string>> headers_;
    std::string names_;
    sha256 hashed_;
    std::uint64_t prepared_for_ = 0;
  };

  request_signer(std::string region, std::string service)
      : region_(std::move(region)), service_(std::move(service)) {}

  /// To be called first, and whenever the credentials change.
  void use(aws_credentials credentials);
  const aws_credentials& credentials() const noexcept { return credentials_; }

  /// To be called before `sign`, as often as the time may have moved on by a second. Headers of
  /// before belong to the time of before.
  void set_time(wall_time now);

  /// Value of the header x-amz-date. Valid until `set_time`.
  std::string_view date() const noexcept { return date_; }

  /// Value of the header Authorization. Valid until the next call.
  std::string_view sign(kind& what, const sha256_digest& body_hash);

 private:
  void renew();

  std::string region_;
  std::string service_;
  aws_credentials credentials_;
  std::string date_;
  signing_scope scope_;
  std::optional<hmac_sha256_key> key_;
  sha256 prefix_;  ///< HMAC of the string to sign up to the hash of the canonical request.
  std::int64_t second_ = -1;
  std::uint64_t generation_ = 0;  ///< Of date and credentials.
  std::string authorization_;
};

}  // namespace cppless::detail

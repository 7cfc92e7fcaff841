// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <cppless/instance.hpp>

/// Dispatchers that run tasks as AWS Lambda functions, or on the local cloud (`cppless platform`),
/// which speaks the same protocol. `cppless deploy` makes the functions: one per task, named
/// `<prefix>-<identity of the task in 16 hexadecimal digits>`. (thesis 4.3.1, paper 4.1)
///
/// A program that only names `aws_dispatcher` through `CPPLESS_DISPATCHER=lambda` must be linked
/// with `-Wl,-u,cppless_create_aws_instance`, which `aws_lambda_target` in CMake does.

namespace cppless {

/// Where Lambda is and how much is sent to it. What is left empty or 0 is found as AWS's own tools
/// find it. Serialisable; holds no secrets.
struct aws_lambda_options {
  /// URL of the service. Empty: `AWS_ENDPOINT_URL_LAMBDA`, `AWS_ENDPOINT_URL`, the profile's
  /// `endpoint_url`, else AWS's own in the region.
  std::string endpoint;

  /// Empty: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`; `us-east-1` where an endpoint
  /// is given.
  std::string region;

  /// Section of `~/.aws/credentials` and `~/.aws/config`. Empty: `AWS_PROFILE`, else `default`.
  /// Named here, it goes before `AWS_ACCESS_KEY_ID`.
  std::string profile;

  /// What the names of this program's functions begin with. Empty: `CPPLESS_FUNCTION_PREFIX`, else
  /// the program's file name; inside a function, its own prefix.
  std::string function_prefix;

  /// File (PEM) of the authorities to trust. Empty: `AWS_CA_BUNDLE`, else the system's.
  std::string ca_bundle;

  /// Invocations under way at once; 0: 1,000, which is what AWS allows an account at first. Fewer
  /// are, for a while, when the service answers that it is too much.
  unsigned most_in_flight = 0;

  /// Connections; 0: 64. HTTP/2 needs as many as the server's limit of streams makes necessary,
  /// HTTP/1.1 one for each invocation under way.
  unsigned most_connections = 0;

  /// Whether an invocation that takes more than twice as long as 95 of 100 of its function's is sent
  /// once more: the first result counts, the other is dropped. At most one in ten at a time, and not
  /// while others wait to be sent. For tasks that may run twice, and are then paid for twice.
  bool duplicate_stragglers = false;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(endpoint, region, profile, function_prefix, ca_bundle, most_in_flight,
            most_connections, duplicate_stragglers);
  }
};

/// Invokes functions over HTTP/2, thousands at once over few connections from one thread. (paper 4.4)
///
/// `create_instance` looks for region, endpoint and credentials: the environment, the shared files,
/// the container's or instance's metadata, renewed before they expire. It throws `rejected`, with
/// what to do, if something is missing; nothing is sent before the first task. Instances work inside
/// functions too.
///
/// Errors: what the task threw is `task_failed`. A function that died or a connection that ended is
/// tried again up to the task's `with_attempts`, then `lost`: a task may thus run more than once,
/// but its result is taken once. 429 and 503 are tried again, more slowly, then `overloaded` or
/// `lost`. Captures and arguments above about 4.5 MiB (6,291,556 bytes once encoded) are `rejected`
/// before they are sent, as is everything the service refuses for good, with its own words.
/// Environment: `HTTPS_PROXY` and `NO_PROXY` for https endpoints. Certificates are always verified.
/// Memory: below 4 KiB for an invocation under way, beside its request in base64.
class aws_lambda_nghttp2_dispatcher {
 public:
  aws_lambda_nghttp2_dispatcher() = default;
  explicit aws_lambda_nghttp2_dispatcher(aws_lambda_options options)
      : options_(std::move(options)) {}

  /// With what the environment says now. Throws `rejected` if no region is set.
  static aws_lambda_nghttp2_dispatcher from_env();

  instance create_instance() const;

  const aws_lambda_options& options() const noexcept { return options_; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(options_);
  }

 private:
  aws_lambda_options options_;
};

/// The same over HTTP/1.1: one connection for each invocation under way, at most
/// `most_connections`. For servers and proxies without HTTP/2, and to compare. (paper 4.4)
class aws_lambda_beast_dispatcher {
 public:
  aws_lambda_beast_dispatcher() = default;
  explicit aws_lambda_beast_dispatcher(aws_lambda_options options) : options_(std::move(options)) {}

  /// With what the environment says now. Throws `rejected` if no region is set.
  static aws_lambda_beast_dispatcher from_env();

  instance create_instance() const;

  const aws_lambda_options& options() const noexcept { return options_; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(options_);
  }

 private:
  aws_lambda_options options_;
};

using aws_dispatcher = aws_lambda_nghttp2_dispatcher;

}  // namespace cppless

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <cppless/cppless.hpp>

#include "http_server.hpp"

namespace test {

inline constexpr std::string_view access_key_id = "AKIDTEST";
inline constexpr std::string_view secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/// Sets environment variables, "" unsets; puts things back at its end.
class environment {
 public:
  explicit environment(std::map<std::string, std::string> variables);
  ~environment();

 private:
  std::map<std::string, std::string> before_;
};

/// A stand-in for Lambda in the test's own process: runs the entries of this program, one after
/// another, and refuses requests that are not signed as they should be.
class service {
 public:
  /// Says for each request, by its number from 0, how its answer is spoilt; nullopt: it is not.
  using spoiler = std::function<std::optional<answer>(unsigned number, const request&)>;

  explicit service(http_server::options options = {}, spoiler spoil = {});

  std::string url() const { return server_.url(); }
  http_server& server() { return server_; }

  /// Options of a dispatcher that finds it, trusting its certificate.
  cppless::aws_lambda_options client_options() const;

  unsigned requests() const { return requests_; }
  /// Tasks run, and the most of these for one request body.
  unsigned runs() const { return runs_; }

  /// What the service takes for the present, relative to the clock.
  std::atomic<int> skew_seconds{0};
  std::string session_token;
  std::vector<std::string> expired_tokens;

 private:
  answer respond(const request& asked);
  std::optional<answer> check_signature(const request& asked) const;

  spoiler spoil_;
  std::atomic<unsigned> requests_{0};
  std::atomic<unsigned> runs_{0};
  std::string ca_bundle_;
  environment environment_;
  http_server server_;
};

/// Runs the entry that `asked` names on its body: what a function of ours answers.
answer run_entry(const request& asked);

/// An answer of Lambda's that is an error.
answer lambda_error(unsigned status, const std::string& type, const std::string& message);
/// One of a function's.
answer function_error(const std::string& type, const std::string& message);

}  // namespace test

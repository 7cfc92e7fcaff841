// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/arn.hpp"
#include "api/error.hpp"
#include "api/signature.hpp"
#include "execution/fleet.hpp"
#include "http/message.hpp"
#include "state/account.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace platform::api {

struct lambda_settings {
  place here;
  std::chrono::milliseconds event_retry_delay = std::chrono::minutes(1);  ///< the second waits twice as long
};

/// The Lambda API for requests whose signature was checked. Used from the I/O thread; archives are
/// unpacked on another.
class lambda_api {
 public:
  /// Fetches an S3 object and calls back with its content, or with nothing and the reason.
  using fetch_object = std::function<void(const std::string& bucket, const std::string& key,
                                          std::function<void(std::optional<std::string>, std::string)>)>;

  lambda_api(boost::asio::io_context& context, state::account& account, execution::fleet& fleet, lambda_settings settings);
  ~lambda_api();

  /// `request_id` goes into the logs; the caller puts it into the answer.
  void serve(const access_key& by, const std::string& request_id, http::request message, http::responder respond);
  /// The longest body an operation takes.
  static std::size_t body_limit(const http::request& head);

  fetch_object fetch;
  /// Where a function's code can be downloaded.
  std::function<std::string(const std::string& sha256)> code_location;
  /// Invoke is answered with this once the server is ending.
  bool draining = false;

 private:
  using json = nlohmann::json;
  struct call {
    const http::request& message;
    std::vector<std::string> path;  ///< decoded, after the date
    std::string request_id;
    std::string query(const char* name) const;
  };
  struct named {
    function_reference reference;
    state::function& function;
  };
  /// The function a call names; throws ResourceNotFoundException.
  named function_of(const call& c);
  const state::function_version& version_of(const named& it);

  json route(const call& c, unsigned& status);
  json function_route(const call& c, unsigned& status);
  bool starts_code_change(const call& c, http::responder& respond);

  // function_operations.cpp
  void create_function(const call& c, http::responder respond);
  void update_code(const call& c, http::responder respond);
  void take_code(const json& request, http::responder respond, std::function<json(std::string sha256, std::uint64_t size)> then, unsigned status);
  json get_function(const call& c);
  json update_configuration(const call& c);
  json list_functions(const call& c);
  void delete_function(const call& c);
  json account_settings();

  // version_operations.cpp
  json publish_version(const call& c);
  json publish(state::function& function, const std::string& description);
  json list_versions(const call& c);
  json create_alias(const call& c);
  json alias_operation(const call& c, unsigned& status);
  json list_aliases(const call& c);
  json concurrency(const call& c, unsigned& status);
  json event_policy(const call& c, unsigned& status);
  json tags(const call& c, unsigned& status);

  // invoke.cpp
  void invoke(const call& c, http::request& message, http::responder respond);
  void invoke_event(const std::string& name, const std::string& qualifier, const std::string& request_id, std::string payload,
                    const std::string& trace, unsigned attempt, std::chrono::steady_clock::time_point accepted);
  void retry_event(const std::string& name, const std::string& qualifier, const std::string& request_id, std::string payload,
                   const std::string& trace, unsigned attempt, std::chrono::steady_clock::time_point accepted,
                   std::chrono::milliseconds delay);

  boost::asio::io_context& context_;
  state::account& account_;
  execution::fleet& fleet_;
  lambda_settings settings_;
  boost::asio::thread_pool unpacking_{1};
};

/// Limits of the API (bytes).
inline constexpr std::uint64_t zip_limit = 50ull << 20;
inline constexpr std::uint64_t unpacked_limit = 250ull << 20;
inline constexpr std::size_t code_request_limit = 70'167'211;
inline constexpr std::size_t event_payload_limit = 1 << 20;
inline constexpr std::size_t control_request_limit = 1 << 20;

}  // namespace platform::api

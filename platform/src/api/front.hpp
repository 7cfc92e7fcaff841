// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/lambda.hpp"
#include "api/signature.hpp"
#include "http/message.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace platform::api {

/// Other services than Lambda: forwarded as they came.
class neighbour {
 public:
  virtual ~neighbour() = default;
  virtual bool serves(const std::string& service) const = 0;
  /// Throws `error` if it cannot be reached at all.
  virtual void forward(http::request message, http::responder respond) = 0;
};

/// All access keys: the configured ones, and one for each function that runs.
class key_ring {
 public:
  void add(const std::string& id, const std::string& secret) { keys_[id] = {id, secret, {}, {}}; }
  const access_key* find(std::string_view id) const;
  /// A key that may only invoke; made at a function's first use.
  const access_key& of_function(const std::string& name);

 private:
  std::map<std::string, access_key, std::less<>> keys_;
  std::map<std::string, std::string> of_functions_;
};

/// What every connection talks to: checks who asks, and passes on to the service that is meant.
class front {
 public:
  front(verifier& check, lambda_api& lambda, neighbour* others) : check_(check), lambda_(lambda), others_(others) {}

  std::size_t body_limit(const http::request& head) const;
  void serve(http::request message, http::responder respond);

  /// Requests that need no signature (pages); returns false to let them be refused.
  std::function<bool(const http::request&, http::responder&)> open_pages;

 private:
  void serve_verified(http::request& message, const std::string& request_id, http::responder& respond);
  verifier& check_;
  lambda_api& lambda_;
  neighbour* others_;
};

/// The front for connections from outside, or from inside a sandbox (no pages).
std::shared_ptr<http::service> outside_service(front& to);
std::shared_ptr<http::service> inside_service(front& to);

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#include "api/front.hpp"

#include "state/digest.hpp"

#include <iostream>

namespace platform::api {
namespace {

constexpr std::size_t object_limit = 300 << 20;

}  // namespace

const access_key* key_ring::find(std::string_view id) const {
  const auto found = keys_.find(id);
  return found == keys_.end() ? nullptr : &found->second;
}

const access_key& key_ring::of_function(const std::string& name) {
  auto& id = of_functions_[name];
  if (id.empty()) {
    id = "ASIA" + state::random_letters(16);
    keys_[id] = {id, state::base64(state::random_bytes(30)), state::base64(state::random_bytes(48)), name};
  }
  return keys_.find(id)->second;
}

std::size_t front::body_limit(const http::request& head) const {
  const std::string_view header = head.find("authorization");
  if (header.find("/lambda/aws4_request") != header.npos) return lambda_api::body_limit(head);
  return header.find("/s3/aws4_request") != header.npos ? object_limit : control_request_limit;
}

void front::serve(http::request message, http::responder respond) {
  const std::string request_id = state::random_uuid();
  const auto answer = [respond, request_id](http::response made) {
    made.headers.push_back({"x-amzn-RequestId", request_id});
    respond(std::move(made));
  };
  http::responder pass = answer;
  // Clients of S3, IAM and STS read XML only.
  std::string xml;
  for (const char* each : {"s3", "iam", "sts"})
    if (message.find("authorization").find(std::string("/") + each + "/aws4_request") != std::string_view::npos) xml = each;
  try {
    serve_verified(message, request_id, pass);
  } catch (const error& what) {
    answer(xml.empty() ? to_response(what) : to_xml_response(what, xml));
  } catch (const std::exception& what) {
    std::cerr << "cppless-platform: request " << request_id << " failed: " << what.what() << std::endl;
    answer(to_response(error(500, "ServiceException", "The platform failed: see its log for request " + request_id)));
  }
}

void front::serve_verified(http::request& message, const std::string& request_id, http::responder& respond) {
  if (open_pages && !message.has("authorization") && open_pages(message, respond)) return;
  // What was not kept cannot be hashed. That the body is too large is no secret.
  if (message.body_too_large) {
    const std::string_view header = message.find("authorization");
    if (header.empty()) throw error(413, "RequestEntityTooLargeException", "Request body is too large");
    static const access_key nobody;
    if (header.find("/lambda/aws4_request") != header.npos)
      return lambda_.serve(nobody, request_id, std::move(message), std::move(respond));
    throw error(413, "RequestEntityTooLargeException", "Request body is too large");
  }
  const auto by = check_.verify(message, std::chrono::system_clock::now());
  if (by.service == "lambda") return lambda_.serve(*by.key, request_id, std::move(message), std::move(respond));
  if (!by.key->function.empty())
    throw error(403, "AccessDeniedException", "The credentials of function " + by.key->function + " only allow lambda:InvokeFunction");
  if (others_ && others_->serves(by.service)) return others_->forward(std::move(message), std::move(respond));
  throw error(403, "InvalidSignatureException", "Credential should be scoped to correct service: 'lambda'. ");
}

namespace {

class front_service : public http::service {
 public:
  explicit front_service(front& to) : to_(to) {}
  std::size_t body_limit(const http::request& head) const override { return to_.body_limit(head); }
  void serve(http::request message, http::responder respond) override { to_.serve(std::move(message), std::move(respond)); }

 private:
  front& to_;
};

class signed_only : public front_service {
 public:
  using front_service::front_service;
  void serve(http::request message, http::responder respond) override {
    if (message.has("authorization")) return front_service::serve(std::move(message), std::move(respond));
    respond(to_response(error(403, "MissingAuthenticationTokenException", "Missing Authentication Token")));
  }
};

}  // namespace

std::shared_ptr<http::service> outside_service(front& to) { return std::make_shared<front_service>(to); }
std::shared_ptr<http::service> inside_service(front& to) { return std::make_shared<signed_only>(to); }

}  // namespace platform::api

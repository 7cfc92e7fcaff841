// SPDX-License-Identifier: Apache-2.0
#include "api/lambda.hpp"

#include "api/configuration.hpp"
#include "api/uri.hpp"
#include "execution/failure.hpp"

#include <algorithm>

namespace platform::api {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = path.find('/');
    parts.push_back(decode_uri(path.substr(0, end)));
    path = end == path.npos ? std::string_view() : path.substr(end);
  }
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

bool is_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

[[noreturn]] void unknown_operation() {
  throw error(404, "UnknownOperationException", "This platform has no such operation");
}

bool is_invoke(const http::request& head) {
  return head.method == "POST" && (head.path().ends_with("/invocations") || head.path().ends_with("/invoke-async"));
}

bool carries_code(const http::request& head) {
  return (head.method == "POST" && (head.path().ends_with("/functions") || head.path().ends_with("/functions/"))) ||
         (head.method == "PUT" && head.path().ends_with("/code"));
}

}  // namespace

lambda_api::lambda_api(boost::asio::io_context& context, state::account& account, execution::fleet& fleet, lambda_settings settings)
    : context_(context), account_(account), fleet_(fleet), settings_(std::move(settings)) {
  for (const auto& [name, function] : account_.functions()) fleet_.set_reserved(name, function.reserved_concurrency);
}

lambda_api::~lambda_api() { unpacking_.join(); }

std::string lambda_api::call::query(const char* name) const { return query_value(message.query(), name); }

std::size_t lambda_api::body_limit(const http::request& head) {
  if (is_invoke(head)) return execution::payload_limit;
  return carries_code(head) ? code_request_limit : control_request_limit;
}

void lambda_api::serve(const access_key& by, const std::string& request_id, http::request message, http::responder respond) {
  call c{message, split_path(message.path()), request_id};
  if (c.path.empty() || !is_date(c.path[0])) unknown_operation();
  c.path.erase(c.path.begin());
  if (!by.function.empty() && !is_invoke(message))
    throw error(403, "AccessDeniedException", "The credentials of function " + by.function + " only allow lambda:InvokeFunction");
  if (message.body_too_large) {
    const bool invoke = is_invoke(message);
    throw error(413, invoke ? "RequestTooLargeException" : "RequestEntityTooLargeException",
                "Request must be smaller than " + std::to_string(body_limit(message)) + " bytes for the " +
                    (invoke ? "InvokeFunction" : message.method == "POST" ? "CreateFunction" : "UpdateFunctionCode") + " operation");
  }
  if (is_invoke(message)) return invoke(c, message, std::move(respond));
  if (starts_code_change(c, respond)) return;
  unsigned status = 200;
  const json answer = route(c, status);
  http::response made{status, {{"Content-Type", "application/json"}}, {}};
  if (status != 204) made.body = answer.dump(-1, ' ', false, json::error_handler_t::replace);
  respond(std::move(made));
}

bool lambda_api::starts_code_change(const call& c, http::responder& respond) {
  if (!carries_code(c.message) || c.path.empty() || c.path[0] != "functions") return false;
  if (c.path.size() == 1) create_function(c, std::move(respond));
  else if (c.path.size() == 3) update_code(c, std::move(respond));
  else return false;
  return true;
}

lambda_api::json lambda_api::route(const call& c, unsigned& status) {
  const std::string& method = c.message.method;
  if (c.path.empty()) unknown_operation();
  if (c.path[0] == "functions" && c.path.size() == 1 && method == "GET") return list_functions(c);
  if (c.path[0] == "functions" && c.path.size() >= 2) return function_route(c, status);
  if (c.path[0] == "account-settings" && c.path.size() == 1 && method == "GET") return account_settings();
  if (c.path[0] == "tags" && c.path.size() == 2) return tags(c, status);
  unknown_operation();
}

lambda_api::json lambda_api::function_route(const call& c, unsigned& status) {
  const std::string& method = c.message.method;
  const std::string what = c.path.size() == 2 ? "" : c.path[2];
  if (what.empty() && method == "GET") return get_function(c);
  if (what.empty() && method == "DELETE") {
    status = 204;
    delete_function(c);
    return {};
  }
  if (what == "configuration" && method == "GET") return get_function(c).at("Configuration");
  if (what == "configuration" && method == "PUT") return update_configuration(c);
  if (what == "versions" && method == "GET") return list_versions(c);
  if (what == "versions" && method == "POST") {
    status = 201;
    return publish_version(c);
  }
  if (what == "aliases" && c.path.size() == 3 && method == "GET") return list_aliases(c);
  if (what == "aliases" && c.path.size() == 3 && method == "POST") {
    status = 201;
    return create_alias(c);
  }
  if (what == "aliases" && c.path.size() == 4) return alias_operation(c, status);
  if (what == "concurrency") return concurrency(c, status);
  if (what == "event-invoke-config") return event_policy(c, status);
  unknown_operation();
}

lambda_api::named lambda_api::function_of(const call& c) {
  function_reference reference = parse_reference(c.path.at(1), settings_.here);
  add_qualifier(reference, c.query("Qualifier"));
  state::function* found = account_.find(reference.name);
  if (found == nullptr) not_found("Function not found: " + function_arn(settings_.here, reference.name, reference.qualifier));
  return {std::move(reference), *found};
}

const state::function_version& lambda_api::version_of(const named& it) {
  const state::function_version* found = it.function.find(it.reference.qualifier);
  if (found == nullptr)
    not_found("Function not found: " + function_arn(settings_.here, it.reference.name, it.reference.qualifier));
  return *found;
}

}  // namespace platform::api

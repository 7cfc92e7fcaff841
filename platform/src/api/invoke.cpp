// SPDX-License-Identifier: Apache-2.0
#include "api/configuration.hpp"
#include "api/lambda.hpp"
#include "state/digest.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace platform::api {
namespace {

constexpr auto throttled_event_delay = std::chrono::seconds(1);

std::string new_trace_id() {
  char text[80];
  const std::string random = state::hex(state::random_bytes(20));
  std::snprintf(text, sizeof text, "Root=1-%08lx-%.24s;Parent=%.16s;Sampled=0", static_cast<unsigned long>(std::time(nullptr)),
                random.c_str(), random.c_str() + 24);
  return text;
}

[[noreturn]] void throttle(const std::string& reason) { throw error(429, "TooManyRequestsException", "Rate Exceeded.", reason); }

/// A string of plain characters, which is what binary data in base64 comes as: 100 times faster to
/// check than JSON in general.
bool is_plain_string(const std::string& body) {
  if (body.size() < 2 || body.front() != '"' || body.back() != '"') return false;
  return std::all_of(body.begin() + 1, body.end() - 1, [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
}

void check_json(const std::string& body) {
  if (body.empty() || is_plain_string(body) || nlohmann::json::accept(body)) return;
  throw error(400, "InvalidRequestContentException", "Could not parse request body into json: it is not valid JSON");
}

/// The header's value, which must be one of `values`; "" if it is not there.
std::string one_of(const http::request& message, const char* header, const char* name, std::initializer_list<std::string_view> values) {
  std::string given(message.find(header));
  if (given.empty() || std::find(values.begin(), values.end(), given) != values.end()) return given;
  std::string set;
  for (const std::string_view each : values) set += (set.empty() ? "" : ", ") + std::string(each);
  failed_validation("Value '" + given.substr(0, 100) + "' at '" + name +
                    "' failed to satisfy constraint: Member must satisfy enum value set: [" + set + "]");
}

http::response to_response(const execution::outcome& result, const std::string& version) {
  http::response answer{200, {{"Content-Type", result.content_type}, {"X-Amz-Executed-Version", version}}, result.payload};
  if (!result.function_error.empty()) answer.headers.push_back({"X-Amz-Function-Error", result.function_error});
  if (!result.log_tail.empty()) answer.headers.push_back({"X-Amz-Log-Result", state::base64(result.log_tail)});
  return answer;
}

}  // namespace

void lambda_api::invoke(const call& c, http::request& message, http::responder respond) {
  if (c.path.size() != 3 || c.path[0] != "functions") throw error(404, "UnknownOperationException", "This platform has no such operation");
  if (draining) throw error(503, "ServiceException", "The platform is shutting down");
  std::string type = one_of(message, "x-amz-invocation-type", "invocationType", {"Event", "RequestResponse", "DryRun"});
  const bool wants_log = one_of(message, "x-amz-log-type", "logType", {"None", "Tail"}) == "Tail";
  if (c.path[2] == "invoke-async") type = "Event";
  const named it = function_of(c);
  const state::function_version& version = version_of(it);
  check_json(message.body);
  const std::string& request_id = c.request_id;
  std::string trace(message.find("x-amzn-trace-id"));
  if (trace.empty()) trace = new_trace_id();
  if (type == "DryRun") return respond({204, {}, {}});
  if (type == "Event") {
    if (message.body.size() > event_payload_limit)
      throw error(413, "RequestTooLargeException", std::to_string(message.body.size()) + " byte payload is too large for the Event invocation type (limit " +
                                                       std::to_string(event_payload_limit) + " bytes)");
    invoke_event(it.function.name, it.reference.qualifier, request_id, std::move(message.body), trace, 0, std::chrono::steady_clock::now());
    http::response accepted{202, {{"Content-Type", "application/json"}}, {}};
    if (c.path[2] == "invoke-async") accepted.body = "{\"Status\":202}";
    return respond(std::move(accepted));
  }
  auto work = std::make_unique<execution::invocation>();
  work->request_id = request_id;
  work->payload = std::move(message.body);
  if (work->payload.empty()) work->payload = "{}";
  work->function_arn = function_arn(settings_.here, it.function.name, it.reference.qualifier);
  work->client_context = state::from_base64(message.find("x-amz-client-context")).value_or("");
  work->trace_id = trace;
  work->wants_log = wants_log;
  work->done = [respond, number = version.version](execution::outcome result) { respond(to_response(result, number)); };
  if (const std::string reason = fleet_.invoke(it.function, version, work); !reason.empty()) throttle(reason);
}

/// Asynchronous: what fails is tried again, twice unless the function is configured otherwise; what is
/// throttled waits until the event is too old.
void lambda_api::invoke_event(const std::string& name, const std::string& qualifier, const std::string& request_id, std::string payload,
                              const std::string& trace, unsigned attempt, std::chrono::steady_clock::time_point accepted) {
  const state::function* function = account_.find(name);
  const state::function_version* version = function ? function->find(qualifier) : nullptr;
  if (version == nullptr) return;  // deleted meanwhile
  const state::event_policy policy = function->events.value_or(state::event_policy{});
  if (std::chrono::steady_clock::now() - accepted > std::chrono::seconds(policy.max_age_seconds)) return;
  auto work = std::make_unique<execution::invocation>();
  work->request_id = request_id;
  work->payload = payload.empty() ? "{}" : payload;
  work->function_arn = function_arn(settings_.here, name, qualifier);
  work->trace_id = trace;
  work->done = [=, this](const execution::outcome& result) {
    if (result.function_error.empty() || attempt >= policy.retries) return;
    retry_event(name, qualifier, request_id, payload, trace, attempt + 1, accepted, settings_.event_retry_delay * (attempt + 1));
  };
  if (!fleet_.invoke(*function, *version, work).empty())
    retry_event(name, qualifier, request_id, std::move(payload), trace, attempt, accepted, throttled_event_delay);
}

void lambda_api::retry_event(const std::string& name, const std::string& qualifier, const std::string& request_id, std::string payload,
                             const std::string& trace, unsigned attempt, std::chrono::steady_clock::time_point accepted,
                             std::chrono::milliseconds delay) {
  const auto timer = std::make_shared<boost::asio::steady_timer>(context_, delay);
  timer->async_wait([=, this, payload = std::move(payload)](boost::system::error_code failed) {
    if (!failed && !draining) invoke_event(name, qualifier, request_id, payload, trace, attempt, accepted);
    (void)timer;
  });
}

}  // namespace platform::api

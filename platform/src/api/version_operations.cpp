// SPDX-License-Identifier: Apache-2.0
#include "api/configuration.hpp"
#include "api/lambda.hpp"
#include "api/uri.hpp"
#include "state/digest.hpp"

#include <algorithm>

namespace platform::api {
namespace {

using nlohmann::json;

/// How much must stay unreserved: AWS's 100 where the account has its 1,000.
unsigned least_unreserved(unsigned account) { return std::min(100u, account / 10); }

void check_alias_name(const std::string& name) {
  if (name.empty()) failed_validation("Value null at 'name' failed to satisfy constraint: Member must not be null");
  if (name.size() > 128)
    failed_validation("Value '" + name.substr(0, 200) +
                      "' at 'name' failed to satisfy constraint: Member must have length less than or equal to 128");
  const bool digits = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits || !std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      }))
    failed_validation("Value '" + name +
                      "' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: (?!^[0-9]+$)([a-zA-Z0-9-_]+)");
}

void check_alias_version(const state::function& function, const std::string& version, const place& here) {
  if (version.empty())
    failed_validation("Value null at 'functionVersion' failed to satisfy constraint: Member must not be null");
  const state::function_version* found = function.aliases.contains(version) ? nullptr : function.find(version);
  if (found == nullptr) not_found("Function not found: " + function_arn(here, function.name, version));
}

void refuse_routing(const json& request) {
  if (const auto routing = request.find("RoutingConfig"); routing != request.end() && routing->is_object() &&
      !routing->value("AdditionalVersionWeights", json::object()).empty())
    invalid_parameter("Weighted aliases are not supported by this platform");
}

}  // namespace

json lambda_api::publish_version(const call& c) {
  const json request = parse_object(c.message.body);
  const named it = function_of(c);
  const std::string revision = string_member(request, "RevisionId");
  if (!revision.empty() && revision != it.function.current.revision)
    throw error(412, "PreconditionFailedException", "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the latest Revision Id");
  const std::string sha = string_member(request, "CodeSha256");
  if (!sha.empty() && sha != describe(settings_.here, it.function.name, it.function.current, false).at("CodeSha256").get<std::string>())
    invalid_parameter("CodeSHA256 (" + sha.substr(0, 100) + ") is different from current CodeSHA256 in $LATEST. Please try again with the CodeSHA256 in $LATEST.");
  return publish(it.function, string_member(request, "Description", it.function.current.description));
}

/// What has not changed since the last version gets no new number.
json lambda_api::publish(state::function& function, const std::string& description) {
  const state::function_version& current = function.current;
  if (!function.published.empty()) {
    const state::function_version& last = function.published.rbegin()->second;
    const bool same = last.code_sha256 == current.code_sha256 && last.runtime == current.runtime && last.role == current.role &&
                      last.handler == current.handler && last.timeout_seconds == current.timeout_seconds &&
                      last.memory_mb == current.memory_mb && last.ephemeral_mb == current.ephemeral_mb &&
                      last.architecture == current.architecture && last.environment == current.environment;
    if (same) {
      account_.save();
      return describe(settings_.here, function.name, last, true);
    }
  }
  const std::uint64_t number = function.next_version++;
  state::function_version& made = function.published[number] = current;
  made.version = std::to_string(number);
  made.description = description;
  made.revision = state::random_uuid();
  account_.save();
  return describe(settings_.here, function.name, made, true);
}

json lambda_api::list_versions(const call& c) {
  const named it = function_of(c);
  json list = json::array({describe(settings_.here, it.function.name, it.function.current, true)});
  for (const auto& [number, version] : it.function.published) list.push_back(describe(settings_.here, it.function.name, version, true));
  return {{"Versions", std::move(list)}};
}

json lambda_api::create_alias(const call& c) {
  const json request = parse_object(c.message.body);
  const named it = function_of(c);
  const std::string name = string_member(request, "Name");
  check_alias_name(name);
  const std::string version = string_member(request, "FunctionVersion");
  check_alias_version(it.function, version, settings_.here);
  refuse_routing(request);
  if (it.function.aliases.contains(name))
    throw error(409, "ResourceConflictException",
                "Alias already exists: " + function_arn(settings_.here, it.function.name, name));
  const state::alias made{version, string_member(request, "Description"), state::random_uuid()};
  it.function.aliases[name] = made;
  account_.save();
  return describe_alias(settings_.here, it.function.name, name, made);
}

json lambda_api::alias_operation(const call& c, unsigned& status) {
  const named it = function_of(c);
  const std::string& name = c.path[3];
  const auto found = it.function.aliases.find(name);
  if (c.message.method == "DELETE") {
    status = 204;
    if (found != it.function.aliases.end()) {
      it.function.aliases.erase(found);
      account_.save();
    }
    return {};
  }
  if (found == it.function.aliases.end())
    not_found("Cannot find alias arn: " + function_arn(settings_.here, it.function.name, name));
  if (c.message.method == "PUT") {
    const json request = parse_object(c.message.body);
    refuse_routing(request);
    state::alias changed = found->second;
    changed.version = string_member(request, "FunctionVersion", changed.version);
    check_alias_version(it.function, changed.version, settings_.here);
    changed.description = string_member(request, "Description", changed.description);
    changed.revision = state::random_uuid();
    found->second = changed;
    account_.save();
  } else if (c.message.method != "GET") {
    throw error(405, "MethodNotAllowedException", "GET, PUT or DELETE");
  }
  return describe_alias(settings_.here, it.function.name, name, found->second);
}

json lambda_api::list_aliases(const call& c) {
  const named it = function_of(c);
  const std::string only = c.query("FunctionVersion");
  json list = json::array();
  for (const auto& [name, about] : it.function.aliases)
    if (only.empty() || about.version == only) list.push_back(describe_alias(settings_.here, it.function.name, name, about));
  return {{"Aliases", std::move(list)}};
}

json lambda_api::concurrency(const call& c, unsigned& status) {
  const named it = function_of(c);
  auto& reserved = it.function.reserved_concurrency;
  if (c.message.method == "GET")
    return reserved ? json{{"ReservedConcurrentExecutions", *reserved}} : json::object();
  if (c.message.method == "DELETE") {
    status = 204;
    reserved.reset();
  } else if (c.message.method == "PUT") {
    const unsigned account = fleet_.settings().account_concurrency;
    const auto wanted = static_cast<unsigned>(number_member(parse_object(c.message.body), "ReservedConcurrentExecutions", 0, 1'000'000));
    if (wanted > fleet_.unreserved_limit() + reserved.value_or(0) - std::min(least_unreserved(account), fleet_.unreserved_limit() + reserved.value_or(0)))
      invalid_parameter("Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [" +
                        std::to_string(least_unreserved(account)) + "].");
    reserved = wanted;
  } else {
    throw error(405, "MethodNotAllowedException", "GET, PUT or DELETE");
  }
  fleet_.set_reserved(it.function.name, reserved);
  account_.save();
  return reserved ? json{{"ReservedConcurrentExecutions", *reserved}} : json();
}

json lambda_api::event_policy(const call& c, unsigned& status) {
  const named it = function_of(c);
  const std::string arn = function_arn(settings_.here, it.function.name, it.reference.qualifier.empty() ? state::latest : it.reference.qualifier);
  auto& policy = it.function.events;
  const std::string& method = c.message.method;
  if (method == "PUT" || method == "POST") {
    const json request = parse_object(c.message.body);
    state::event_policy changed = method == "POST" && policy ? *policy : state::event_policy{};
    if (request.contains("MaximumRetryAttempts")) changed.retries = static_cast<unsigned>(number_member(request, "MaximumRetryAttempts", 0, 2));
    if (request.contains("MaximumEventAgeInSeconds"))
      changed.max_age_seconds = static_cast<unsigned>(number_member(request, "MaximumEventAgeInSeconds", 60, 21600));
    policy = changed;
    account_.save();
  } else if (!policy) {
    not_found("The function " + arn + " doesn't have an EventInvokeConfig");
  } else if (method == "DELETE") {
    status = 204;
    policy.reset();
    account_.save();
    return {};
  } else if (method != "GET") {
    throw error(405, "MethodNotAllowedException", "GET, PUT, POST or DELETE");
  }
  return {{"FunctionArn", arn}, {"MaximumRetryAttempts", policy->retries}, {"MaximumEventAgeInSeconds", policy->max_age_seconds}};
}

json lambda_api::tags(const call& c, unsigned& status) {
  const function_reference reference = parse_reference(c.path[1], settings_.here);
  state::function* function = account_.find(reference.name);
  if (function == nullptr) not_found("Function not found: " + function_arn(settings_.here, reference.name));
  if (c.message.method == "GET") return {{"Tags", function->tags}};
  status = 204;
  if (c.message.method == "POST") {
    const json request = parse_object(c.message.body);
    const auto given = request.find("Tags");
    if (given == request.end() || !given->is_object())
      failed_validation("Value null at 'tags' failed to satisfy constraint: Member must not be null");
    for (const auto& [key, value] : given->items()) {
      if (!value.is_string() || key.empty() || key.size() > 128 || value.get<std::string>().size() > 256)
        invalid_parameter("A tag is a key of 1 to 128 and a value of at most 256 characters");
      function->tags[key] = value;
    }
  } else if (c.message.method == "DELETE") {
    std::string_view rest = c.message.query();
    while (!rest.empty()) {
      const auto end = rest.find('&');
      const std::string_view pair = rest.substr(0, end);
      if (pair.starts_with("tagKeys=")) function->tags.erase(decode_uri(pair.substr(8)));
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    }
  } else {
    throw error(405, "MethodNotAllowedException", "GET, POST or DELETE");
  }
  account_.save();
  return {};
}

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#include "api/configuration.hpp"

#include "api/error.hpp"
#include "state/digest.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <regex>

namespace platform::api {
namespace {

using nlohmann::json;

constexpr std::size_t environment_at_most = 4096;
constexpr std::array reserved_variables = {
    "_HANDLER", "_X_AMZN_TRACE_ID", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_LAMBDA_RUNTIME_API", "LAMBDA_TASK_ROOT", "LAMBDA_RUNTIME_DIR"};

[[noreturn]] void wrong_type(const char* name, const char* wanted) {
  throw error(400, "SerializationException", std::string("Member '") + name + "' must be " + wanted);
}

const json* member(const json& request, const char* name) {
  const auto found = request.find(name);
  return found == request.end() || found->is_null() ? nullptr : &*found;
}

void limit_length(const std::string& value, const char* name, std::size_t most) {
  if (value.size() > most)
    failed_validation("Value at '" + std::string(name) +
                      "' failed to satisfy constraint: Member must have length less than or equal to " + std::to_string(most));
}

void apply_runtime(const json& request, state::function_version& into) {
  const std::string runtime = string_member(request, "Runtime");
  if (runtime.empty()) return;
  if (runtime != "provided" && runtime != "provided.al2" && runtime != "provided.al2023")
    invalid_parameter("Value " + runtime + " at 'runtime' failed to satisfy constraint: this platform runs provided, provided.al2 "
                      "and provided.al2023 (a zip with a bootstrap of its own)");
  into.runtime = runtime;
}

void apply_role(const json& request, state::function_version& into) {
  const std::string role = string_member(request, "Role");
  if (role.empty()) return;
  static const std::regex pattern("arn:(aws[a-zA-Z-]*)?:iam::\\d{12}:role/?[a-zA-Z_0-9+=,.@\\-_/]+");
  if (role.size() > 512 || !std::regex_match(role, pattern))
    failed_validation("Value '" + role.substr(0, 200) +
                      "' at 'role' failed to satisfy constraint: Member must satisfy regular expression pattern: "
                      "arn:(aws[a-zA-Z-]*)?:iam::\\d{12}:role/?[a-zA-Z_0-9+=,.@\\-_/]+");
  into.role = role;
}

void apply_environment(const json& request, state::function_version& into) {
  const json* environment = member(request, "Environment");
  if (!environment) return;
  if (!environment->is_object()) wrong_type("Environment", "an object");
  std::map<std::string, std::string> variables;
  std::size_t size = 0;
  if (const json* given = member(*environment, "Variables")) {
    if (!given->is_object()) wrong_type("Environment.Variables", "an object");
    for (const auto& [name, value] : given->items()) {
      if (!value.is_string()) wrong_type("Environment.Variables", "an object of strings");
      const auto good = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
      if (name.size() < 2 || !std::all_of(name.begin(), name.end(), good) || name[0] == '_' || (name[0] >= '0' && name[0] <= '9'))
        invalid_parameter("Lambda was unable to configure your environment variables because the environment variable name '" +
                          name.substr(0, 100) + "' does not match [a-zA-Z]([a-zA-Z0-9_])+");
      if (std::find(reserved_variables.begin(), reserved_variables.end(), name) != reserved_variables.end())
        invalid_parameter("Lambda was unable to configure your environment variables because the environment variables you have "
                          "provided contains reserved keys that are currently not supported for modification. Reserved keys used "
                          "in this request: " + name);
      const std::string text = value;
      if (text.find('\0') != text.npos) invalid_parameter("The environment variable '" + name + "' contains a NUL character");
      size += name.size() + text.size();
      variables[name] = text;
    }
  }
  if (size > environment_at_most)
    invalid_parameter("Lambda was unable to configure your environment variables because the environment variables you have "
                      "provided exceeded the 4KB limit.");
  into.environment = std::move(variables);
}

void apply_architecture(const json& request, state::function_version& into) {
  const json* given = member(request, "Architectures");
  if (!given) return;
  if (!given->is_array() || given->size() != 1 || !(*given)[0].is_string()) wrong_type("Architectures", "an array of one string");
  const std::string wanted = (*given)[0];
  if (wanted != "x86_64" && wanted != "arm64")
    failed_validation("Value '[" + wanted.substr(0, 100) +
                      "]' at 'architectures' failed to satisfy constraint: Member must satisfy constraint: [Member must satisfy enum value set: [x86_64, arm64], "
                      "Member must not be null]");
  if (wanted == "arm64" && !std::filesystem::exists("/usr/bin/qemu-aarch64-static"))
    invalid_parameter("arm64 functions need qemu-aarch64-static (Debian package qemu-user-static) on this machine");
  into.architecture = wanted;
}

void refuse_unsupported(const json& request) {
  if (const json* layers = member(request, "Layers"); layers && layers->is_array() && !layers->empty())
    invalid_parameter("Layers are not supported by this platform");
  if (string_member(request, "PackageType", "Zip") != "Zip")
    invalid_parameter("PackageType Image is not supported by this platform: use Zip");
  for (const char* each : {"FileSystemConfigs", "CapacityProviderConfig", "DurableConfig"})
    if (const json* given = member(request, each); given && !given->empty())
      invalid_parameter(std::string(each) + " is not supported by this platform");
}

}  // namespace

json parse_object(const std::string& body) {
  if (body.empty()) return json::object();
  json parsed = json::parse(body, nullptr, false);
  if (parsed.is_discarded())
    throw error(400, "InvalidRequestContentException", "Could not parse request body into json: it is not valid JSON");
  if (!parsed.is_object()) throw error(400, "InvalidRequestContentException", "Could not parse request body into json: it is no object");
  return parsed;
}

std::string string_member(const json& request, const char* name, const std::string& otherwise) {
  const json* found = member(request, name);
  if (!found) return otherwise;
  if (!found->is_string()) wrong_type(name, "a string");
  return *found;
}

bool bool_member(const json& request, const char* name) {
  const json* found = member(request, name);
  if (!found) return false;
  if (!found->is_boolean()) wrong_type(name, "true or false");
  return *found;
}

std::int64_t number_member(const json& request, const char* name, std::int64_t least, std::int64_t most) {
  const json* found = member(request, name);
  if (!found || !found->is_number_integer()) wrong_type(name, "a whole number");
  const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX;
  const std::int64_t value = huge ? INT64_MAX : found->get<std::int64_t>();
  const auto complain = [&](const char* relation, std::int64_t limit) {
    std::string field(name);
    field[0] = static_cast<char>(field[0] + ('a' - 'A'));
    failed_validation("Value '" + std::to_string(value) + "' at '" + field +
                      "' failed to satisfy constraint: Member must have value " + relation + " than or equal to " + std::to_string(limit));
  };
  if (value < least) complain("greater", least);
  if (value > most) complain("less", most);
  return value;
}

void apply_settings(const json& request, state::function_version& into) {
  refuse_unsupported(request);
  apply_runtime(request, into);
  apply_role(request, into);
  if (member(request, "Handler")) into.handler = string_member(request, "Handler");
  limit_length(into.handler, "handler", 128);
  if (std::any_of(into.handler.begin(), into.handler.end(), [](char c) { return c == ' ' || static_cast<unsigned char>(c) < 32; }))
    failed_validation("Value at 'handler' failed to satisfy constraint: Member must satisfy regular expression pattern: [^\\s]+");
  if (member(request, "Description")) into.description = string_member(request, "Description");
  limit_length(into.description, "description", 256);
  if (member(request, "Timeout")) into.timeout_seconds = static_cast<unsigned>(number_member(request, "Timeout", 1, 900));
  if (member(request, "MemorySize")) into.memory_mb = static_cast<unsigned>(number_member(request, "MemorySize", 128, 10240));
  if (const json* storage = member(request, "EphemeralStorage")) {
    if (!storage->is_object()) wrong_type("EphemeralStorage", "an object");
    into.ephemeral_mb = static_cast<unsigned>(number_member(*storage, "Size", 512, 10240));
  }
  if (const json* tracing = member(request, "TracingConfig"); tracing && tracing->is_object())
    into.tracing = string_member(*tracing, "Mode", "PassThrough");
  apply_environment(request, into);
  apply_architecture(request, into);
}

json describe(const place& here, const std::string& name, const state::function_version& version, bool qualified) {
  json made{{"FunctionName", name},
            {"FunctionArn", function_arn(here, name, qualified ? version.version : "")},
            {"Runtime", version.runtime},
            {"Role", version.role},
            {"Handler", version.handler},
            {"CodeSize", version.code_size},
            {"Description", version.description},
            {"Timeout", version.timeout_seconds},
            {"MemorySize", version.memory_mb},
            {"LastModified", version.last_modified},
            {"Version", version.version},
            {"TracingConfig", {{"Mode", version.tracing}}},
            {"RevisionId", version.revision},
            {"State", "Active"},
            {"LastUpdateStatus", "Successful"},
            {"PackageType", "Zip"},
            {"Architectures", {version.architecture}},
            {"EphemeralStorage", {{"Size", version.ephemeral_mb}}},
            {"SnapStart", {{"ApplyOn", "None"}, {"OptimizationStatus", "Off"}}},
            {"LoggingConfig", {{"LogFormat", "Text"}, {"LogGroup", "/aws/lambda/" + name}}}};
  std::string raw;
  for (std::size_t i = 0; i + 1 < version.code_sha256.size(); i += 2)
    raw += static_cast<char>(std::stoi(version.code_sha256.substr(i, 2), nullptr, 16));
  made["CodeSha256"] = state::base64(raw);
  if (!version.environment.empty()) made["Environment"] = {{"Variables", version.environment}};
  return made;
}

json describe_alias(const place& here, const std::string& function, const std::string& name, const state::alias& it) {
  return {{"AliasArn", function_arn(here, function, name)}, {"Name", name}, {"FunctionVersion", it.version},
          {"Description", it.description}, {"RevisionId", it.revision}};
}

void touch(state::function_version& version) {
  version.revision = state::random_uuid();
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[48];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03ld+0000", now.tv_nsec / 1'000'000);
  version.last_modified = text;
}

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#include "api/configuration.hpp"
#include "api/lambda.hpp"
#include "state/code_archive.hpp"
#include "state/digest.hpp"

#include <boost/asio/post.hpp>

#include <charconv>

namespace platform::api {
namespace {

using nlohmann::json;

void check_revision(const json& request, const state::function_version& version) {
  const std::string wanted = string_member(request, "RevisionId");
  if (!wanted.empty() && wanted != version.revision)
    throw error(412, "PreconditionFailedException",
                "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the latest Revision Id");
}

}  // namespace

void lambda_api::create_function(const call& c, http::responder respond) {
  const json request = parse_object(c.message.body);
  const std::string given = string_member(request, "FunctionName");
  if (given.empty())
    failed_validation("Value null at 'functionName' failed to satisfy constraint: Member must not be null");
  const function_reference reference = parse_reference(given, settings_.here, naming::of_new);
  state::function made;
  made.name = reference.name;
  apply_settings(request, made.current);
  if (made.current.role.empty())
    failed_validation("Value null at 'role' failed to satisfy constraint: Member must not be null");
  if (made.current.runtime.empty())
    invalid_parameter("Runtime and Handler are mandatory parameters for functions created with deployment packages.");
  if (const auto tags = request.find("Tags"); tags != request.end() && tags->is_object())
    for (const auto& [key, value] : tags->items())
      if (value.is_string()) made.tags[key] = value;
  if (account_.find(made.name))
    throw error(409, "ResourceConflictException", "Function already exist: " + made.name);
  const auto code = request.find("Code");
  if (code == request.end() || !code->is_object()) invalid_parameter("Please provide a source for function code.");
  const bool publish_too = bool_member(request, "Publish");
  take_code(*code, std::move(respond), [this, made = std::move(made), publish_too](std::string sha256, std::uint64_t size) mutable {
    if (account_.find(made.name)) throw error(409, "ResourceConflictException", "Function already exist: " + made.name);
    made.current.code_sha256 = std::move(sha256);
    made.current.code_size = size;
    touch(made.current);
    state::function& kept = account_.functions()[made.name] = made;
    if (publish_too) return publish(kept, kept.current.description);
    account_.save();
    return describe(settings_.here, kept.name, kept.current, false);
  }, 201);
}

void lambda_api::update_code(const call& c, http::responder respond) {
  const json request = parse_object(c.message.body);
  const named it = function_of(c);
  check_revision(request, it.function.current);
  state::function_version changed = it.function.current;
  apply_settings(json{{"Architectures", request.value("Architectures", json())}}, changed);
  const bool publish_too = bool_member(request, "Publish");
  const bool dry = bool_member(request, "DryRun");
  take_code(request, std::move(respond), [this, name = it.function.name, publish_too, dry, request](std::string sha256, std::uint64_t size) {
    state::function* function = account_.find(name);
    if (function == nullptr) not_found("Function not found: " + function_arn(settings_.here, name));
    check_revision(request, function->current);
    state::function_version changed = function->current;
    apply_settings(json{{"Architectures", request.value("Architectures", json())}}, changed);
    changed.code_sha256 = std::move(sha256);
    changed.code_size = size;
    if (dry) return describe(settings_.here, name, changed, false);
    touch(changed);
    function->current = std::move(changed);
    fleet_.retire_outdated(*function);
    if (publish_too) return publish(*function, function->current.description);
    account_.save();
    return describe(settings_.here, name, function->current, false);
  }, 200);
}

/// Unpacks on the other thread; `then` runs on the I/O thread and may throw.
void lambda_api::take_code(const json& request, http::responder respond,
                           std::function<json(std::string, std::uint64_t)> then, unsigned status) {
  const auto unpack = [this, respond, then = std::move(then), status](std::string zip) {
    const auto archive = std::make_shared<std::string>(std::move(zip));
    boost::asio::post(unpacking_, [this, archive, respond, then, status] {
      std::string name;
      std::optional<error> refused;
      try {
        name = account_.add_code(*archive, unpacked_limit);
      } catch (const state::archive_too_large& problem) {
        refused = error(400, "InvalidParameterValueException", problem.what());
      } catch (const state::bad_archive& problem) {
        refused = error(400, "InvalidParameterValueException",
                        std::string("Could not unzip uploaded file. Please check your file, then try to upload again. (") + problem.what() + ")");
      } catch (const std::exception& problem) {
        refused = error(500, "ServiceException", problem.what());
      }
      boost::asio::post(context_, [respond, then, status, name = std::move(name), refused = std::move(refused), size = archive->size()] {
        try {
          if (refused) throw *refused;
          const json answer = then(name, size);
          respond({status, {{"Content-Type", "application/json"}}, answer.dump(-1, ' ', false, json::error_handler_t::replace)});
        } catch (const error& what) {
          respond(to_response(what));
        } catch (const std::exception& what) {
          respond(to_response(error(500, "ServiceException", what.what())));
        }
      });
    });
  };
  const std::string bucket = string_member(request, "S3Bucket");
  const std::string key = string_member(request, "S3Key");
  const std::string text = string_member(request, "ZipFile");
  if (text.empty() == (bucket.empty() || key.empty()))
    invalid_parameter(text.empty() ? "Please provide a source for function code."
                                   : "Please do not provide other FunctionCode parameters when providing a ZipFile.");
  if (!bucket.empty()) {
    if (!fetch) invalid_parameter("Code from S3 needs moto on this platform: give the zip with the request");
    return fetch(bucket, key, [respond, unpack, bucket, key](std::optional<std::string> object, const std::string& why) {
      if (object) return unpack(std::move(*object));
      respond(to_response(error(400, "InvalidParameterValueException",
                                "Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: " + why +
                                    " (s3://" + bucket + "/" + key + ")")));
    });
  }
  auto zip = state::from_base64(text);
  if (!zip) throw error(400, "SerializationException", "ZipFile is not base64");
  if (zip->size() > zip_limit)
    throw error(413, "RequestEntityTooLargeException", "Zipped size must be smaller than " + std::to_string(zip_limit) + " bytes");
  unpack(std::move(*zip));
}

json lambda_api::get_function(const call& c) {
  const named it = function_of(c);
  const state::function_version& version = version_of(it);
  json made{{"Configuration", describe(settings_.here, it.function.name, version, !it.reference.qualifier.empty())},
            {"Code", {{"RepositoryType", "S3"}, {"Location", code_location ? code_location(version.code_sha256) : ""}}}};
  if (!it.function.tags.empty()) made["Tags"] = it.function.tags;
  if (it.function.reserved_concurrency)
    made["Concurrency"] = {{"ReservedConcurrentExecutions", *it.function.reserved_concurrency}};
  return made;
}

json lambda_api::update_configuration(const call& c) {
  const json request = parse_object(c.message.body);
  const named it = function_of(c);
  check_revision(request, it.function.current);
  state::function_version changed = it.function.current;
  json settable = request;
  settable.erase("Architectures");
  apply_settings(settable, changed);
  touch(changed);
  it.function.current = std::move(changed);
  fleet_.retire_outdated(it.function);
  account_.save();
  return describe(settings_.here, it.function.name, it.function.current, false);
}

json lambda_api::list_functions(const call& c) {
  const std::string marker = c.query("Marker");
  const std::string wanted = c.query("MaxItems");
  const bool all_versions = c.query("FunctionVersion") == "ALL";
  std::size_t most = 50;
  if (!wanted.empty()) {
    const auto [end, failed] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), most);
    const bool is_number = end == wanted.data() + wanted.size() && failed != std::errc::invalid_argument;
    if (!is_number) throw error(400, "SerializationException", "MaxItems must be a whole number");
    if (failed != std::errc() || most < 1 || most > 10000)
      failed_validation("Value '" + wanted.substr(0, 50) + "' at 'maxItems' failed to satisfy constraint: Member must have value " +
                        (most < 1 ? "greater than or equal to 1" : "less than or equal to 10000"));
    most = std::min<std::size_t>(most, 50);
  }
  json list = json::array();
  json answer;
  for (auto at = account_.functions().lower_bound(marker); at != account_.functions().end(); ++at) {
    if (list.size() >= most) {
      answer["NextMarker"] = at->first;
      break;
    }
    list.push_back(describe(settings_.here, at->first, at->second.current, all_versions));
    if (all_versions)
      for (const auto& [number, version] : at->second.published) list.push_back(describe(settings_.here, at->first, version, true));
  }
  answer["Functions"] = std::move(list);
  return answer;
}

void lambda_api::delete_function(const call& c) {
  const named it = function_of(c);
  const std::string name = it.function.name;
  const std::string& qualifier = it.reference.qualifier;
  if (qualifier.empty()) {
    fleet_.retire_all(name);
    account_.functions().erase(name);
    return account_.save();
  }
  if (qualifier == state::latest)
    invalid_parameter("$LATEST version cannot be deleted without deleting the function.");
  const state::function_version& version = version_of(it);
  if (version.version != qualifier) invalid_parameter("Deletion of aliases is not currently supported.");
  for (const auto& [alias, about] : it.function.aliases)
    if (about.version == qualifier)
      throw error(409, "ResourceConflictException",
                  "Version " + qualifier + " is currently referenced by alias " + alias + ": delete the alias first");
  it.function.published.erase(std::stoull(qualifier));
  fleet_.retire_outdated(it.function);
  account_.save();
}

json lambda_api::account_settings() {
  std::uint64_t size = 0;
  for (const auto& [name, function] : account_.functions()) {
    size += function.current.code_size;
    for (const auto& [number, version] : function.published) size += version.code_size;
  }
  return {{"AccountLimit", {{"TotalCodeSize", 80530636800}, {"CodeSizeUnzipped", unpacked_limit}, {"CodeSizeZipped", zip_limit},
                            {"ConcurrentExecutions", fleet_.settings().account_concurrency},
                            {"UnreservedConcurrentExecutions", fleet_.unreserved_limit()}}},
          {"AccountUsage", {{"TotalCodeSize", size}, {"FunctionCount", account_.functions().size()}}}};
}

}  // namespace platform::api

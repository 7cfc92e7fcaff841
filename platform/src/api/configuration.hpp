// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/arn.hpp"
#include "state/account.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace platform::api {

/// Puts the settings a request names into `into`; throws InvalidParameterValueException with AWS's words
/// for what AWS would not take either, and for what this platform does not have (layers, images, ...).
void apply_settings(const nlohmann::json& request, state::function_version& into);

/// FunctionConfiguration. `qualified`: the ARN names the version.
nlohmann::json describe(const place& here, const std::string& name, const state::function_version& version, bool qualified);
nlohmann::json describe_alias(const place& here, const std::string& function, const std::string& name, const state::alias& it);

/// Gives the version a new revision and a new time of change.
void touch(state::function_version& version);

/// The members of a JSON object, by type; throw InvalidRequestContentException for another type.
std::string string_member(const nlohmann::json& request, const char* name, const std::string& otherwise = {});
bool bool_member(const nlohmann::json& request, const char* name);
/// Throws InvalidParameterValueException outside of the range.
std::int64_t number_member(const nlohmann::json& request, const char* name, std::int64_t least, std::int64_t most);

/// A request's body; throws InvalidRequestContentException unless it is a JSON object (empty: {}).
nlohmann::json parse_object(const std::string& body);

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace platform::api {

/// Where this account is.
struct place {
  std::string region = "us-east-1";
  std::string account = "000000000000";
};

struct function_reference {
  std::string name;
  std::string qualifier;  ///< "" if none was given
};

/// What a reference is for: CreateFunction refuses a bare name with another error than all others do.
enum class naming { of_existing, of_new };

/// What a path's {FunctionName} may be: a name, account:function:name or an ARN, each with or without
/// :qualifier. Throws ValidationException, for a new bare name InvalidParameterValueException, and for
/// another account's or region's or a name that is too long to exist ResourceNotFoundException.
function_reference parse_reference(std::string_view text, const place& here, naming what = naming::of_existing);

/// Adds the query's Qualifier, which must not contradict the reference's own.
void add_qualifier(function_reference& reference, const std::string& qualifier);

std::string function_arn(const place& here, std::string_view name, std::string_view qualifier = {});

bool is_function_name(std::string_view text);

}  // namespace platform::api

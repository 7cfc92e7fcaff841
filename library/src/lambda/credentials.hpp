// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lambda/shared_config.hpp"
#include "lambda/signature.hpp"

namespace cppless::detail {

/// Looks for credentials where AWS's own tools do, in their order: the environment, the shared files,
/// the container's endpoint, the instance's metadata (version 2; not if AWS_EC2_METADATA_DISABLED is
/// true). A profile asked for by name goes before the environment. May take a second or two where
/// there is a network to ask; throws `rejected` that says what to do if there are none.
aws_credentials find_credentials(const std::string& profile);

/// Credentials as both endpoints hand them out, in JSON. Throws `rejected` for anything else.
aws_credentials parse_credentials(std::string_view json);

/// When they are to be renewed: well before they expire, but not at once either.
wall_time renewal_time(const aws_credentials& credentials, wall_time now);

}  // namespace cppless::detail

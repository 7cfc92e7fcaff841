// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace platform::api {

enum class keep_slashes { no, yes };

/// Percent-encodes all but A-Z a-z 0-9 - . _ ~ (and / where kept).
std::string encode_uri(std::string_view text, keep_slashes slashes);

/// Percent-decodes; a % that is followed by no two hex digits stays.
std::string decode_uri(std::string_view text);

/// The decoded value of a query parameter, "" if it is not there.
std::string query_value(std::string_view query, std::string_view name);

}  // namespace platform::api

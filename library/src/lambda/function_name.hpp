// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cppless::detail {

/// What a program's functions begin with: `asked` if not empty, else CPPLESS_FUNCTION_PREFIX, else
/// (inside a function) what its own name begins with, else the program's file name. Characters that
/// function names may not have become '-', and it is cut to 47 characters.
std::string function_prefix(const std::string& asked);

/// The same of a given text.
std::string as_function_prefix(std::string_view text);

/// "<prefix>-<identity in 16 hexadecimal digits>": at most 64 characters.
std::string function_name(std::string_view prefix, std::uint64_t identity);

}  // namespace cppless::detail

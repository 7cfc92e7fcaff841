// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bench {

/// What a function of ours answers whose task returned the int 0: format 1, warm, no time, no
/// memory, four bytes of result, in base64.
inline constexpr std::string_view answer = "\"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\"";

}  // namespace bench

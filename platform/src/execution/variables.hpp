// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execution/environment.hpp"

#include <string>
#include <vector>

namespace platform::execution {

struct function_key {
  std::string id, secret, token;
};

/// NAME=value of everything a function finds in its environment, AWS's and its own.
std::vector<std::string> environment_variables(const environment& of, const std::string& region, const function_key& key);

}  // namespace platform::execution

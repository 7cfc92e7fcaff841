// SPDX-License-Identifier: Apache-2.0
#include "thread_use.hpp"

namespace cppless::migrate {

std::optional<thread_need> thread_use::need_of(const std::set<std::string>& functions) const {
  std::set<std::string> seen = functions;
  std::vector<std::string> open(functions.begin(), functions.end());
  while (!open.empty()) {
    const auto found = functions_.find(open.back());
    open.pop_back();
    if (found == functions_.end()) {
      continue;
    }
    if (!found->second.needs.empty()) {
      return found->second.needs.front();
    }
    for (const std::string& callee : found->second.callees) {
      if (seen.insert(callee).second) {
        open.push_back(callee);
      }
    }
  }
  return std::nullopt;
}

}  // namespace cppless::migrate

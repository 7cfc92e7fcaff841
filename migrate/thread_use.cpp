// SPDX-License-Identifier: Apache-2.0
#include "thread_use.hpp"

namespace cppless::migrate {

std::vector<std::string> thread_use::reached_from(const std::set<std::string>& functions) const {
  std::vector<std::string> result;
  std::set<std::string> seen = functions;
  std::vector<std::string> open(functions.begin(), functions.end());
  while (!open.empty()) {
    result.push_back(open.back());
    open.pop_back();
    const auto found = functions_.find(result.back());
    if (found == functions_.end()) {
      continue;
    }
    for (const std::string& callee : found->second.callees) {
      if (seen.insert(callee).second) {
        open.push_back(callee);
      }
    }
  }
  return result;
}

std::optional<thread_need> thread_use::need_of(const std::set<std::string>& functions) const {
  for (const std::string& each : reached_from(functions)) {
    const auto found = functions_.find(each);
    if (found != functions_.end() && !found->second.needs.empty()) {
      return found->second.needs.front();
    }
  }
  return std::nullopt;
}

}  // namespace cppless::migrate

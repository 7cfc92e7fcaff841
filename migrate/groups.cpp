// SPDX-License-Identifier: Apache-2.0
#include "groups.hpp"

namespace cppless::migrate {

groups::member groups::make() {
  parents_.push_back(static_cast<member>(parents_.size()));
  return parents_.back();
}

groups::member groups::named(const std::string& key) {
  const auto [found, is_new] = names_.try_emplace(key, 0);
  if (is_new) {
    found->second = make();
  }
  return found->second;
}

void groups::join(member one, member other) { parents_[leader_of(one)] = leader_of(other); }

groups::member groups::leader_of(member any) {
  while (parents_[any] != any) {
    parents_[any] = parents_[parents_[any]];  // halves the path for the next who asks
    any = parents_[any];
  }
  return any;
}

}  // namespace cppless::migrate

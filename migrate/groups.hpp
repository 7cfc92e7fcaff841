// SPDX-License-Identifier: Apache-2.0
//
// What must migrate together. A future that one function returns and another variable takes has one
// type, so either both are rewritten or neither is. Everything between which a value of a migrated
// type passes is one group (disjoint sets); a single obstacle keeps its whole group as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cppless::migrate {

class groups {
 public:
  using member = int;

  member make();
  member named(const std::string& key);  // the same for the same key

  void join(member one, member other);
  member leader_of(member any);

 private:
  std::vector<member> parents_;
  std::map<std::string, member> names_;
};

}  // namespace cppless::migrate

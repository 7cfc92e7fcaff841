// SPDX-License-Identifier: Apache-2.0
//
// From what was found to what is changed where, and what is not and why.
#pragma once

#include "findings.hpp"

namespace cppless::migrate {

struct edit {
  unsigned offset = 0;
  unsigned length = 0;
  std::string text;

  auto operator<=>(const edit&) const = default;
};

struct remark {
  place where;
  std::string text;

  auto operator<=>(const remark&) const = default;
};

struct decision {
  std::map<std::string, std::set<edit>> edits;  // by file
  std::set<remark> remarks;                     // in the order of the files
};

decision decide(findings& found);

}  // namespace cppless::migrate

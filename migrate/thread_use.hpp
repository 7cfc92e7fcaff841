// SPDX-License-Identifier: Apache-2.0
//
// Which functions need a thread of their own, by themselves or by what they call: because they use
// thread-local data, or wait in a way that would hold a worker of the fiber runtime.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "places.hpp"

namespace cppless::migrate {

struct thread_need {
  place where;
  std::string reason;  // completes "the task ..."
};

class thread_use {
 public:
  void calls(const std::string& caller, const std::string& callee) {
    functions_[caller].callees.insert(callee);
  }
  void needs(const std::string& function, thread_need need) {
    functions_[function].needs.push_back(std::move(need));
  }

  // All that `functions` call, themselves first, along calls.
  std::vector<std::string> reached_from(const std::set<std::string>& functions) const;

  // The first need found from `functions` on, along calls.
  std::optional<thread_need> need_of(const std::set<std::string>& functions) const;

 private:
  struct function {
    std::set<std::string> callees;
    std::vector<thread_need> needs;
  };
  std::map<std::string, function> functions_;
};

}  // namespace cppless::migrate

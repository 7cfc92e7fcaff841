// SPDX-License-Identifier: Apache-2.0
#include "decision.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace cppless::migrate {
namespace {

constexpr const char* target = "cppless::fiber::";

void add_late_obstacles(findings& found) {
  for (const task& each : found.tasks) {
    if (const std::optional<thread_need> need = found.threads.need_of(each.functions)) {
      found.obstacles.push_back(
          {each.where, "the task " + need->reason + " (" + shown(need->where) + ")", each.group});
    }
  }
  for (const auto& [key, each] : found.shared) {
    if (!each.is_defined) {
      found.obstacles.push_back(
          {each.where, each.name + " is defined in a source that was not given", each.group});
    }
  }
}

// The first obstacle of each group that has one.
std::map<groups::member, const obstacle*> first_obstacles(findings& found) {
  std::map<groups::member, const obstacle*> result;
  for (const obstacle& each : found.obstacles) {
    const obstacle*& first = result[found.together.leader_of(each.group)];
    if (first == nullptr || each.where < first->where) {
      first = &each;
    }
  }
  return result;
}

// Tasks that become fibers pause as such: their workers are for others meanwhile.
void change_pauses(const findings& found, const std::function<bool(groups::member)>& stays,
                   decision& result) {
  for (const task& each : found.tasks) {
    if (stays(each.group)) {
      continue;
    }
    for (const std::string& function : found.threads.reached_from(each.functions)) {
      const auto pauses = found.pauses.find(function);
      if (pauses == found.pauses.end()) {
        continue;
      }
      for (const thread_pause& pause : pauses->second) {
        result.edits[pause.where.file].insert(
            {pause.where.offset, pause.length, target + ("this_fiber::" + pause.name)});
      }
    }
  }
}

}  // namespace

decision decide(findings& found) {
  add_late_obstacles(found);
  const auto obstacles = first_obstacles(found);
  const auto obstacle_of = [&](const written_name& name) {
    const auto at = obstacles.find(found.together.leader_of(name.group));
    return at == obstacles.end() ? nullptr : at->second;
  };
  const auto stays = [&](groups::member group) {
    return obstacles.contains(found.together.leader_of(group));
  };
  decision result;
  std::set<place> explained;
  std::set<groups::member> with_names;
  for (const auto& [key, name] : found.names) {
    with_names.insert(found.together.leader_of(name.group));
  }
  for (const obstacle& each : found.obstacles) {
    if (with_names.contains(found.together.leader_of(each.group))) {
      result.remarks.insert({each.where, "left alone: " + each.reason});
      explained.insert(each.where);
    }
  }

  // A using-declaration migrates if every use of it does; else the uses that do are qualified.
  std::set<std::string> migrated_using;
  for (const auto& [key, each] : found.using_declarations) {
    const bool all = !each.uses.empty() && !each.where.file.empty() &&
                     std::all_of(each.uses.begin(), each.uses.end(), [&](const std::string& use) {
                       return obstacle_of(found.names.at(use)) == nullptr;
                     });
    if (all) {
      migrated_using.insert(key);
      result.edits[each.where.file].insert({each.where.offset, each.length, target + each.name});
    }
  }
  for (const auto& [key, name] : found.names) {
    if (const obstacle* reason = obstacle_of(name)) {
      if (!explained.contains(name.where)) {
        result.remarks.insert({name.where, "left alone: the type of this std::" + name.name +
                                               " goes with " + shown(reason->where)});
      }
    } else if (name.name == "async" || !migrated_using.contains(name.through)) {
      // Functions are always qualified: by its arguments an unqualified async would find std's too.
      result.edits[name.where.file].insert({name.where.offset, name.length, target + name.name});
    }
  }
  change_pauses(found, stays, result);
  return result;
}

}  // namespace cppless::migrate

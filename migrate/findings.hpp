// SPDX-License-Identifier: Apache-2.0
//
// What the survey of all sources found, and the decision works on. Keyed by place, so that a header
// is one however many sources include it, and a template one however often it is instantiated.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "groups.hpp"
#include "places.hpp"
#include "thread_use.hpp"

namespace cppless::migrate {

// A name as it is written, qualifier and all, e.g. `std::future` of `std::future<int>`.
struct written_name {
  place where;
  unsigned length = 0;
  std::string name;  // without qualifier
  groups::member group = 0;
  std::string through;  // key of the using-declaration that makes it visible, if one does
};

struct using_declaration {
  place where;
  unsigned length = 0;
  std::string name;
  std::set<std::string> uses;  // keys of the names written through it
};

// Why a group stays as it is.
struct obstacle {
  place where;
  std::string reason;  // completes "left alone: ..."
  groups::member group = 0;
};

// A call of std::async whose policy is no obstacle.
struct task {
  place where;
  groups::member group = 0;
  std::set<std::string> functions;  // what it runs
};

// A function or variable whose type migrates: if nothing given defines it, it cannot.
struct shared_declaration {
  place where;
  std::string name;
  groups::member group = 0;
  bool is_defined = false;
};

struct include_lines {
  static constexpr unsigned none = std::numeric_limits<unsigned>::max();
  bool has_fiber = false;
  unsigned future = none;  // offset within the line of the first #include <future>
  unsigned last = none;    // ... of the last #include that is least deep in #if
  unsigned last_depth = none;
};

// A use of a function of std::this_thread that pauses: in a task, the fiber should instead.
struct thread_pause {
  place where;
  unsigned length = 0;  // qualifier and all
  std::string name;
};

struct findings {
  groups together;
  std::map<std::string, written_name> names;
  std::map<std::string, using_declaration> using_declarations;
  std::vector<obstacle> obstacles;
  std::vector<task> tasks;
  std::map<std::string, shared_declaration> shared;
  std::map<std::string, include_lines> includes;  // by file
  thread_use threads;
  std::map<std::string, std::vector<thread_pause>> pauses;  // by the function that does it
};

}  // namespace cppless::migrate

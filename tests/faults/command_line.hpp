// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstring>
#include <string>

/// What every sweep can be told: [--tasks N] [--seed S] [--workers W].
struct sweep_options {
  int tasks = 10'000;
  unsigned seed = 1;
  unsigned workers = 8;

  /// Takes the option at `at` and moves `at` to its number. False if it is none of these, or its
  /// number is not above 0.
  bool take(int argc, char** argv, int& at) {
    const std::string name = argv[at];
    const auto number = [&](auto& value) {
      const char* const text = at + 1 < argc ? argv[++at] : "";
      const char* const end = text + std::strlen(text);
      return std::from_chars(text, end, value).ptr == end && end != text && value > 0;
    };
    return name == "--tasks"     ? number(tasks)
           : name == "--seed"    ? number(seed)
           : name == "--workers" ? number(workers)
                                 : false;
  }
};

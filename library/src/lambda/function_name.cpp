// SPDX-License-Identifier: Apache-2.0
#include "lambda/function_name.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace cppless::detail {
namespace {

constexpr std::size_t longest_prefix = 64 - 1 - 16;

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::string program_name() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return "program";
  const std::string_view whole(path, static_cast<std::size_t>(size));
  return std::string(whole.substr(whole.rfind('/') + 1));
}

// "pi" of "pi-0123456789abcdef"; empty if it is no name of ours.
std::string_view prefix_of(std::string_view function) {
  if (function.size() < 18 || function[function.size() - 17] != '-') return {};
  const std::string_view digits = function.substr(function.size() - 16);
  if (!std::all_of(digits.begin(), digits.end(), is_lower_hex)) return {};
  return function.substr(0, function.size() - 17);
}

}  // namespace

std::string as_function_prefix(std::string_view text) {
  std::string prefix(text.substr(0, longest_prefix));
  for (char& c : prefix) {
    const bool is_allowed = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_allowed) c = '-';
  }
  return prefix;
}

std::string function_prefix(const std::string& asked) {
  if (!asked.empty()) return as_function_prefix(asked);
  const char* const set = std::getenv("CPPLESS_FUNCTION_PREFIX");
  if (set != nullptr && *set != '\0') return as_function_prefix(set);
  const char* const self = std::getenv("AWS_LAMBDA_FUNCTION_NAME");
  if (self != nullptr && !prefix_of(self).empty()) return std::string(prefix_of(self));
  return as_function_prefix(program_name());
}

std::string function_name(std::string_view prefix, std::uint64_t identity) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "-%016llx", static_cast<unsigned long long>(identity));
  return std::string(prefix) + digits;
}

}  // namespace cppless::detail

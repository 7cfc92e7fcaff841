// SPDX-License-Identifier: Apache-2.0
#include "api/arn.hpp"

#include "api/error.hpp"

#include <algorithm>
#include <vector>

namespace platform::api {
namespace {

bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != more.npos;
  });
}

constexpr std::size_t name_at_most = 64;
constexpr std::size_t reference_at_most = 170;
constexpr std::size_t new_reference_at_most = 140;

/// AWS looks at a new function's bare name only behind its model of the request, hence as a parameter.
[[noreturn]] void no_match(std::string_view text, naming what, const std::string& wanted) {
  const std::string sentence = "Value '" + std::string(text.substr(0, 200)) + "' at 'functionName' failed to satisfy constraint: " + wanted;
  if (what == naming::of_new && text.find(':') == text.npos) invalid_parameter("1 validation error detected: " + sentence);
  failed_validation(sentence);
}

[[noreturn]] void no_match(std::string_view text, naming what) {
  no_match(text, what,
           "Member must satisfy regular expression pattern: "
           "(arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\\d{1}:)?(\\d{12}:)?(function:)?"
           "([a-zA-Z0-9-_]+)(:(\\$LATEST|[a-zA-Z0-9-_]+))?");
}

[[noreturn]] void too_long(std::string_view text, naming what, std::size_t most) {
  no_match(text, what, "Member must have length less than or equal to " + std::to_string(most));
}

}  // namespace

bool is_function_name(std::string_view text) { return text.size() <= name_at_most && is_word(text, "-_"); }

function_reference parse_reference(std::string_view text, const place& here, naming what) {
  const std::size_t most = what == naming::of_new ? new_reference_at_most : reference_at_most;
  if (text.size() > most && text.find(':') != text.npos) too_long(text, what, most);
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::size_t next = 0;
  if (parts[0] == "arn") {
    if (parts.size() < 7 || parts[1] != "aws" || parts[2] != "lambda" || parts[5] != "function") no_match(text, what);
    if (parts[3] != here.region)
      not_found("Functions from '" + parts[3] + "' are not reachable in this region ('" + here.region + "')");
    if (parts[4] != here.account) not_found("Function not found: " + std::string(text));
    next = 6;
  } else if (parts.size() >= 3 && parts[1] == "function") {
    if (parts[0] != here.account) not_found("Function not found: " + std::string(text));
    next = 2;
  }
  function_reference found{parts[next], {}};
  if (parts.size() > next + 2) no_match(text, what);
  if (parts.size() == next + 2) {
    found.qualifier = parts[next + 1];
    if (found.qualifier != "$LATEST" && !is_word(found.qualifier, "-_")) no_match(text, what);
  }
  if (!is_word(found.name, "-_")) no_match(text, what);
  if (found.name.size() > name_at_most) {
    if (what == naming::of_new) too_long(text, what, name_at_most);
    if (text.size() > most) too_long(text, what, most);
    not_found("Function not found: " + function_arn(here, found.name));
  }
  return found;
}

void add_qualifier(function_reference& reference, const std::string& qualifier) {
  if (qualifier.empty()) return;
  if (qualifier.size() > 128)
    failed_validation("Value '" + qualifier.substr(0, 200) +
                      "' at 'qualifier' failed to satisfy constraint: Member must have length less than or equal to 128");
  if (!is_word(qualifier, "$-_"))
    failed_validation("Value '" + qualifier +
                      "' at 'qualifier' failed to satisfy constraint: Member must satisfy regular expression pattern: (|[a-zA-Z0-9$_-]+)");
  if (!reference.qualifier.empty() && reference.qualifier != qualifier)
    invalid_parameter("The derived qualifier from the function name does not match the specified qualifier.");
  reference.qualifier = qualifier;
}

std::string function_arn(const place& here, std::string_view name, std::string_view qualifier) {
  std::string arn = "arn:aws:lambda:" + here.region + ":" + here.account + ":function:" + std::string(name);
  if (!qualifier.empty()) arn += ":" + std::string(qualifier);
  return arn;
}

}  // namespace platform::api

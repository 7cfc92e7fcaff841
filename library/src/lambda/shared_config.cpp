// SPDX-License-Identifier: Apache-2.0
#include "lambda/shared_config.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace cppless::detail {
namespace {

constexpr std::size_t largest_file = 1 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r";
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) + 1 - first);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() > largest_file) text.clear();
  return text;
}

std::string path_of(const char* variable, const char* in_home) {
  std::string path = environment(variable);
  if (path.empty()) path = in_home;
  if (path.starts_with("~/")) path.replace(0, 1, environment("HOME"));
  return path;
}

}  // namespace

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::map<std::string, config_section, std::less<>> parse_config(std::string_view text) {
  std::map<std::string, config_section, std::less<>> sections;
  config_section* section = nullptr;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::size_t close = content.find(']');
      section = close == std::string_view::npos
                    ? nullptr
                    : &sections[std::string(trimmed(content.substr(1, close - 1)))];
      continue;
    }
    const std::size_t equals = content.find('=');
    const bool is_nested = line.front() == ' ' || line.front() == '\t';
    if (section == nullptr || equals == std::string_view::npos || is_nested) continue;
    std::string_view value = trimmed(content.substr(equals + 1));
    for (const std::string_view comment : {" #", " ;"}) {
      value = trimmed(value.substr(0, value.find(comment)));
    }
    (*section)[std::string(trimmed(content.substr(0, equals)))] = value;
  }
  return sections;
}

std::string aws_profile::get(std::string_view setting) const {
  const auto found = settings.find(setting);
  return found == settings.end() ? "" : found->second;
}

aws_profile load_profile(const std::string& asked) {
  aws_profile profile;
  profile.name = asked;
  for (const char* name : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}) {
    if (profile.name.empty()) profile.name = environment(name);
  }
  if (profile.name.empty()) profile.name = "default";
  const std::string credentials = path_of("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  const std::string config = path_of("AWS_CONFIG_FILE", "~/.aws/config");
  profile.files = credentials + " and " + config;
  const auto take = [&](const std::string& path, const std::string& section) {
    const auto sections = parse_config(read_file(path));
    const auto found = sections.find(section);
    if (found == sections.end()) return;
    profile.exists = true;
    profile.settings.insert(found->second.begin(), found->second.end());
  };
  take(credentials, profile.name);
  take(config, "profile " + profile.name);
  if (profile.name == "default") take(config, "default");
  return profile;
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cppless::detail {

/// A section of AWS's shared files: settings by name.
using config_section = std::map<std::string, std::string, std::less<>>;

/// Sections by name, as the file has them ("default", "profile ci"). Lines that mean nothing are
/// passed over, nested settings too, as AWS's own tools do. Never throws but for want of memory.
std::map<std::string, config_section, std::less<>> parse_config(std::string_view text);

/// What ~/.aws/config and ~/.aws/credentials (or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE)
/// say of one profile; the latter goes first.
struct aws_profile {
  std::string name;
  bool exists = false;
  config_section settings;
  std::string files;  ///< Where it was looked for, for messages.

  std::string get(std::string_view setting) const;
};

/// `asked` or else AWS_PROFILE, AWS_DEFAULT_PROFILE, "default".
aws_profile load_profile(const std::string& asked);

/// The value of an environment variable, "" where it is not set.
std::string environment(const char* name);

}  // namespace cppless::detail

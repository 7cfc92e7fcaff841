// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace platform::state {

struct credentials {
  std::string id;
  std::string secret;
};

/// The keys of an AWS credentials file (one per profile), which is made with one random key if it is not
/// there. Throws `damaged` if it holds no key, or if others than its owner may read it.
std::vector<credentials> ensure_credentials(const std::filesystem::path& file);

/// The keys in the text of such a file.
std::vector<credentials> parse_credentials(const std::string& text);

}  // namespace platform::state

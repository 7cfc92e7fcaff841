// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace platform::state {

/// The archive is no zip file, or holds what must not be unpacked.
class bad_archive : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};
/// Unpacked it would be larger than allowed.
class archive_too_large : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

struct archive_entry {
  std::string name;  ///< relative, without "." and ".."
  std::uint64_t size;
  unsigned mode;  ///< permission bits
  bool directory;
};

/// What an archive holds, after everything was looked at that makes unpacking dangerous: names that are
/// absolute, contain "..", NUL or backslashes or come twice, links, devices, sizes beyond
/// `unpacked_limit`, more than 100,000 entries, encryption.
std::vector<archive_entry> inspect_archive(std::string_view zip, std::uint64_t unpacked_limit);

/// Unpacks into `directory`, which must exist and be empty; files are readable by all and writable by
/// the owner. Throws as inspect_archive, and if contents do not match their declared size or checksum.
void unpack_archive(std::string_view zip, const std::filesystem::path& directory,
                    std::uint64_t unpacked_limit);

}  // namespace platform::state

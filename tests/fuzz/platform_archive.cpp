// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include "state/code_archive.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

/// Zip files: whatever is in them, nothing but files and directories below the target is made.
namespace fuzz {

seeds make_seeds() {
  // Two stored entries, "a" and "b/c", by Python's zipfile.
  static constexpr unsigned char zip[] = {
      0x50, 0x4b, 0x03, 0x04, 0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0x83, 0x16, 0xdc, 0x8c, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0x61, 0x78,
      0x50, 0x4b, 0x03, 0x04, 0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0x15, 0x26, 0xdb, 0xfb, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0x62, 0x2f, 0x63, 0x79,
      0x50, 0x4b, 0x01, 0x02, 0x14, 3, 0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0x83, 0x16, 0xdc, 0x8c, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa4, 0x81, 0, 0, 0, 0, 0x61,
      0x50, 0x4b, 0x01, 0x02, 0x14, 3, 0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0x15, 0x26, 0xdb, 0xfb, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xed, 0x81, 0x20, 0, 0, 0, 0x62, 0x2f, 0x63,
      0x50, 0x4b, 0x05, 0x06, 0, 0, 0, 0, 2, 0, 2, 0, 0x60, 0, 0, 0, 0x42, 0, 0, 0, 0, 0};
  return {'\0' + std::string(reinterpret_cast<const char*>(zip), sizeof zip)};
}

void decode(unsigned, const std::byte* data, std::size_t size) {
  namespace fs = std::filesystem;
  static const fs::path place = "/dev/shm/cppless-fuzz-" + std::to_string(::getpid());
  const std::string_view zip(reinterpret_cast<const char*>(data), size);
  fs::remove_all(place);
  fs::create_directories(place / "target");
  try {
    platform::state::unpack_archive(zip, place / "target", 1 << 20);
  } catch (const platform::state::bad_archive&) {
  } catch (const platform::state::archive_too_large&) {
  } catch (const std::system_error&) {
  }
  std::uintmax_t total = 0;
  for (const auto& each : fs::directory_iterator(place))
    if (each.path().filename() != "target") fail("something beside the target");
  for (const auto& each : fs::recursive_directory_iterator(place / "target")) {
    if (each.is_symlink() || (!each.is_regular_file() && !each.is_directory())) fail("neither file nor directory");
    if (each.is_regular_file()) total += each.file_size();
  }
  if (total > (1 << 20)) fail("more than the limit");
  fs::remove_all(place);
}

}  // namespace fuzz

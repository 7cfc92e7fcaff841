// SPDX-License-Identifier: Apache-2.0
#include "state/code_archive.hpp"

#include <zip.h>

#include <cerrno>
#include <memory>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace platform::state {
namespace {

constexpr std::int64_t entries_at_most = 100'000;
constexpr std::size_t path_at_most = 1024;

struct discard_archive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using archive_ptr = std::unique_ptr<zip_t, discard_archive>;

archive_ptr open_archive(std::string_view zip) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(zip.data(), zip.size(), 0, &error);
  if (source == nullptr) throw std::bad_alloc();
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive == nullptr) {
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    zip_source_free(source);
    throw bad_archive(why);
  }
  return archive_ptr(archive);
}

void check_name(std::string_view name) {
  const auto refuse = [&](const char* why) {
    throw bad_archive("entry \"" + std::string(name.substr(0, 200)) + "\" " + why);
  };
  if (name.empty()) refuse("has no name");
  if (name.size() > path_at_most) refuse("has a name longer than 1024 bytes");
  if (name.front() == '/') refuse("has an absolute path");
  if (name.find('\\') != name.npos) refuse("has a backslash in its name");
  if (name.find('\0') != name.npos) refuse("has a NUL in its name");
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part == "..") refuse("leaves the archive with \"..\"");
    if (part == "." || part.empty()) refuse("has an empty or \".\" part in its path");
    if (part.size() > 255) refuse("has a part longer than 255 bytes");
    at = end + 1;
  }
}

archive_entry inspect_entry(zip_t* archive, zip_uint64_t index) {
  zip_stat_t about;
  if (zip_stat_index(archive, index, ZIP_FL_ENC_RAW, &about) != 0 ||
      (about.valid & (ZIP_STAT_NAME | ZIP_STAT_SIZE)) != (ZIP_STAT_NAME | ZIP_STAT_SIZE))
    throw bad_archive("an entry cannot be read");
  archive_entry entry{about.name, about.size, 0644, false};
  check_name(entry.name);
  if (entry.name.back() == '/') {
    entry.directory = true;
    entry.name.pop_back();
  }
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) && about.encryption_method != ZIP_EM_NONE)
    throw bad_archive("entry \"" + entry.name + "\" is encrypted");
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(archive, index, 0, &system, &attributes);
  if (system == ZIP_OPSYS_UNIX) {
    const unsigned mode = attributes >> 16;
    const unsigned kind = mode & S_IFMT;
    if (kind == S_IFLNK) throw bad_archive("entry \"" + entry.name + "\" is a symbolic link");
    if (kind != 0 && kind != S_IFREG && kind != S_IFDIR)
      throw bad_archive("entry \"" + entry.name + "\" is neither file nor directory");
    if ((mode & 0777) != 0) entry.mode = mode & 0777;
  }
  return entry;
}

[[noreturn]] void fail(const char* what, const std::filesystem::path& path) {
  throw std::system_error(errno, std::generic_category(), std::string("cannot ") + what + " " + path.string());
}

void unpack_entry(zip_t* archive, zip_uint64_t index, const archive_entry& entry,
                  const std::filesystem::path& target) {
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> in(zip_fopen_index(archive, index, 0), zip_fclose);
  if (!in) throw bad_archive("entry \"" + entry.name + "\": " + zip_strerror(archive));
  const int out = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (out < 0) {
    if (errno == EEXIST || errno == ENOTDIR || errno == EISDIR)
      throw bad_archive("entry \"" + entry.name + "\" is there twice");
    fail("create", target);
  }
  const std::unique_ptr<const int, void (*)(const int*)> closing(&out, [](const int* fd) { ::close(*fd); });
  char piece[65536];
  std::uint64_t total = 0;
  for (;;) {
    const auto count = zip_fread(in.get(), piece, sizeof piece);
    if (count < 0) throw bad_archive("entry \"" + entry.name + "\" is damaged: " + zip_file_strerror(in.get()));
    if (count == 0) break;
    total += static_cast<std::uint64_t>(count);
    if (total > entry.size) throw bad_archive("entry \"" + entry.name + "\" is longer than it says");
    for (zip_int64_t written = 0; written < count;) {
      const ssize_t step = ::write(out, piece + written, static_cast<std::size_t>(count - written));
      if (step < 0) fail("write", target);
      written += step;
    }
  }
  if (total != entry.size) throw bad_archive("entry \"" + entry.name + "\" is shorter than it says");
  // Functions run as another user: what the owner may read and execute, all may; nobody writes.
  const unsigned mode = 0444 | ((entry.mode & 0111) ? 0111 : 0);
  if (::fchmod(out, mode) != 0) fail("set the mode of", target);
}

std::vector<archive_entry> inspect(zip_t* archive, std::uint64_t unpacked_limit) {
  const auto count = zip_get_num_entries(archive, 0);
  if (count <= 0) throw bad_archive("it is empty");
  if (count > entries_at_most) throw bad_archive("it has more than 100000 entries");
  std::vector<archive_entry> entries;
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    entries.push_back(inspect_entry(archive, static_cast<zip_uint64_t>(i)));
    const archive_entry& entry = entries.back();
    if (!names.insert(entry.name).second) throw bad_archive("entry \"" + entry.name + "\" is there twice");
    if (entry.size > unpacked_limit || (total += entry.size) > unpacked_limit)
      throw archive_too_large("Unzipped size must be smaller than " + std::to_string(unpacked_limit) + " bytes");
  }
  return entries;
}

}  // namespace

std::vector<archive_entry> inspect_archive(std::string_view zip, std::uint64_t unpacked_limit) {
  return inspect(open_archive(zip).get(), unpacked_limit);
}

void unpack_archive(std::string_view zip, const std::filesystem::path& directory,
                    std::uint64_t unpacked_limit) {
  const archive_ptr archive = open_archive(zip);
  const auto entries = inspect(archive.get(), unpacked_limit);
  std::error_code error;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto target = directory / entries[i].name;
    const auto folder = entries[i].directory ? target : target.parent_path();
    std::filesystem::create_directories(folder, error);
    if (error == std::errc::not_a_directory || error == std::errc::file_exists)
      throw bad_archive("entry \"" + entries[i].name + "\" lies below a file");
    if (error) throw std::system_error(error, "cannot make " + folder.string());
    if (!entries[i].directory) unpack_entry(archive.get(), i, entries[i], target);
  }
}

}  // namespace platform::state

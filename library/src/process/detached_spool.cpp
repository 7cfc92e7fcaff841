// SPDX-License-Identifier: Apache-2.0
#include "process/detached_spool.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/system_call.hpp"

namespace cppless::detail {
namespace {

constexpr time_t longest_kept_s = 7 * 24 * 60 * 60;
constexpr const char* removed_prefix = ".removed-";

std::string usual_path() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string chosen = variable("CPPLESS_DETACHED_DIR"); !chosen.empty()) {
    if (chosen.front() != '/') {
      throw rejected("CPPLESS_DETACHED_DIR='" + chosen + "' must be a path that begins with /");
    }
    return chosen;
  }
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty() || cache.front() != '/') {
    const std::string home = variable("HOME");
    if (home.empty() || home.front() != '/') {
      throw rejected("there is no folder for detached tasks: set CPPLESS_DETACHED_DIR, XDG_CACHE_HOME "
                     "or HOME");
    }
    cache = home + "/.cache";
  }
  return cache + "/cppless/detached";
}

void make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) check_system_call(-1, "mkdir", part);
    if (at == std::string::npos) return;
  }
}

// What others could write there would be taken for the user's results.
void check_owner(const std::string& path, const struct stat& about) {
  if (!S_ISDIR(about.st_mode)) throw rejected("'" + path + "' is no folder, detached tasks need one");
  if (about.st_uid != ::geteuid()) {
    throw rejected("the folder of detached tasks '" + path + "' belongs to user " +
                   std::to_string(about.st_uid) + ", not to this one, " +
                   std::to_string(::geteuid()));
  }
  if ((about.st_mode & 077) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(about.st_mode & 07777));
    throw rejected("the folder of detached tasks '" + path + "' is open to other users (mode " + mode +
                   ", it must be 0700)");
  }
}

template <class Each>
void for_each_name(const std::string& folder, Each each) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (open == nullptr) return;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") each(name);
  }
}

void delete_folder(const std::string& path) {
  for_each_name(path, [&](const std::string& name) { ::unlink((path + "/" + name).c_str()); });
  ::rmdir(path.c_str());
}

void write_all(int to, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t written =
        retry_if_interrupted([&] { return ::write(to, data.data(), data.size()); });
    check_system_call(written, "write", path);
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string id_text(const detached_key& key) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t each : key) {
    text += digits[each >> 4];
    text += digits[each & 15];
  }
  return text;
}

std::optional<detached_key> key_from(std::string_view text) noexcept {
  detached_key key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char digit = text[at];
    const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                      : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                     : -1;
    if (value < 0) return std::nullopt;
    key[at / 2] = static_cast<std::uint8_t>(key[at / 2] << 4 | value);
  }
  return key;
}

detached_spool detached_spool::open(bool makes) {
  detached_spool spool(usual_path());
  if (makes) make_folders(spool.path_);
  struct stat about {};
  if (::lstat(spool.path_.c_str(), &about) == 0) {
    check_owner(spool.path_, about);
  } else if (makes || errno != ENOENT) {
    check_system_call(-1, "lstat", spool.path_);
  }
  return spool;
}

std::string detached_spool::folder_of(const detached_key& task) const {
  return path_ + "/" + id_text(task);
}

detached_key detached_spool::add() const {
  detached_key task{};
  check_system_call(::getrandom(task.data(), task.size(), 0), "getrandom");
  const std::string folder = folder_of(task);
  check_system_call(::mkdir(folder.c_str(), 0700), "mkdir", folder);
  return task;
}

void detached_spool::keep(const detached_key& task, std::string_view task_name) const {
  const std::string path = folder_of(task) + "/keeper";
  static file_descriptor file;  // until the process ends
  file = file_descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  check_system_call(file.get(), "open", path);
  write_all(file.get(), std::as_bytes(std::span(task_name)), path);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  check_system_call(::fcntl(file.get(), F_SETLK, &lock), "fcntl(F_SETLK)", path);
}

// Locks of this kind end with their process whatever it was, and tell which it is.
pid_t detached_spool::keeper_of(const detached_key& task) const {
  const std::string path = folder_of(task) + "/keeper";
  const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  check_system_call(::fcntl(file.get(), F_GETLK, &lock), "fcntl(F_GETLK)", path);
  if (lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? lock.l_pid : -1;  // of another namespace
}

bool detached_spool::is_known(const detached_key& task) const {
  return ::access(folder_of(task).c_str(), F_OK) == 0;
}

bool detached_spool::has_ended(const detached_key& task) const {
  return ::access((folder_of(task) + "/result").c_str(), F_OK) == 0;
}

bool detached_spool::write(const detached_key& task, const detached_outcome& outcome) const {
  const bytes data = encode_outcome(outcome);
  const std::string folder = folder_of(task);
  const std::string unfinished = folder + "/result." + std::to_string(::getpid());
  ::unlink(unfinished.c_str());  // of an earlier process of that number
  const file_descriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  check_system_call(file.get(), "open", unfinished);
  write_all(file.get(), data, unfinished);
  check_system_call(::fsync(file.get()), "fsync", unfinished);
  // Not rename: the first outcome counts.
  const int linked = ::link(unfinished.c_str(), (folder + "/result").c_str());
  const int error = errno;
  ::unlink(unfinished.c_str());
  if (linked != 0 && error == EEXIST) return false;
  errno = error;
  check_system_call(linked, "link", folder + "/result");
  const file_descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return true;
}

std::optional<detached_outcome> detached_spool::read(const detached_key& task) const {
  const std::string path = folder_of(task) + "/result";
  const file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::nullopt;
  check_system_call(file.get(), "open", path);
  struct stat about {};
  check_system_call(::fstat(file.get(), &about), "fstat", path);
  if (!S_ISREG(about.st_mode)) throw rejected("'" + path + "' is no file");
  bytes data(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  while (have < data.size()) {
    const ssize_t more = retry_if_interrupted(
        [&] { return ::read(file.get(), data.data() + have, data.size() - have); });
    check_system_call(more, "read", path);
    if (more == 0) break;
    have += static_cast<std::size_t>(more);
  }
  try {
    return decode_outcome({data.data(), have});
  } catch (const rejected& error) {
    throw rejected("'" + path + "': " + error.what());
  }
}

bool detached_spool::remove(const detached_key& task) const {
  const std::string gone = path_ + "/" + removed_prefix + id_text(task);
  if (::rename(folder_of(task).c_str(), gone.c_str()) != 0) {
    if (errno == ENOENT) return false;
    check_system_call(-1, "rename", folder_of(task));
  }
  delete_folder(gone);
  return true;
}

void detached_spool::remove_old() const {
  const time_t now = ::time(nullptr);
  for_each_name(path_, [&](const std::string& name) {
    const std::string folder = path_ + "/" + name;
    if (name.starts_with(removed_prefix)) return delete_folder(folder);
    const auto task = key_from(name);
    struct stat about {};
    if (!task || ::lstat(folder.c_str(), &about) != 0) return;
    if (now - about.st_mtime > longest_kept_s && keeper_of(*task) == 0) remove(*task);
  });
}

}  // namespace cppless::detail

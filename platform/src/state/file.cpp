// SPDX-License-Identifier: Apache-2.0
#include "state/file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace platform::state {
namespace {

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const char* what, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string("cannot ") + what + " " + file.string());
}

}  // namespace

void write_atomically(const std::filesystem::path& file, std::string_view content, mode_t mode) {
  std::filesystem::path partial = file;
  partial += ".partial";
  const descriptor out(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (out.get() < 0) fail("open", partial);
  if (::fchmod(out.get(), mode) != 0) fail("set the mode of", partial);
  while (!content.empty()) {
    const ssize_t count = ::write(out.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", partial);
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(out.get()) != 0) fail("sync", partial);
  if (::rename(partial.c_str(), file.c_str()) != 0) fail("replace", file);
  const descriptor directory(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) fail("sync", file.parent_path());
}

std::optional<std::string> read_file(const std::filesystem::path& file) {
  const descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail("open", file);
  }
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t count = ::read(in.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", file);
    if (count == 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
  }
}

}  // namespace platform::state

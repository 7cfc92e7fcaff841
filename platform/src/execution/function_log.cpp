// SPDX-License-Identifier: Apache-2.0
#include "execution/function_log.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace platform::execution {
namespace {
constexpr std::size_t gathered_at_most = 64 * 1024;
constexpr std::size_t events_at_most = 20'000;
constexpr off_t file_at_most = 64 << 20;
}  // namespace

void function_logs::append(const std::string& function, const std::string& stream, std::string_view lines) {
  std::string& text = gathered_[function];
  text += lines;
  if (text.size() > gathered_at_most) {
    write(function, text);
    gathered_.erase(function);
  }
  if (!keep_events) return;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (events.size() == events_at_most) {
      events.pop_front();
      ++dropped_events;
    }
    events.push_back({function, stream, now.count(), std::string(lines.substr(0, end == lines.npos ? end : end + 1))});
    lines = end == lines.npos ? std::string_view() : lines.substr(end + 1);
  }
}

void function_logs::flush() {
  for (const auto& [function, text] : gathered_) write(function, text);
  gathered_.clear();
}

void function_logs::write(const std::string& function, std::string_view text) {
  const auto path = file(function);
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (::lseek(fd, 0, SEEK_END) > file_at_most) {
    ::close(fd);
    ::rename(path.c_str(), (path.string() + ".1").c_str());
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
  }
  [[maybe_unused]] const auto count = ::write(fd, text.data(), text.size());
  ::close(fd);
}

std::string timestamp() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[40];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03ldZ", now.tv_nsec / 1'000'000);
  return text;
}

}  // namespace platform::execution

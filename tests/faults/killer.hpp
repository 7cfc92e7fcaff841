// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CPPLESS_SWEEP_IS_SANITIZED 1
#endif
#endif
#if defined(CPPLESS_SWEEP_IS_SANITIZED)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

/// Our own children that run, by /proc.
inline std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const pid_t self = ::getpid();
  DIR* const directory = ::opendir("/proc");
  while (const dirent* const entry = ::readdir(directory)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    std::ifstream file(std::string("/proc/") + entry->d_name + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(") ");
    if (end == std::string::npos || text[end + 2] == 'Z') continue;
    if (std::atol(text.c_str() + end + 4) == self) found.push_back(std::atoi(entry->d_name));
  }
  ::closedir(directory);
  return found;
}

/// Open descriptors for "/proc/self/fd", else the file's lines with that text.
inline std::size_t entries(const char* path, const char* containing) {
  std::size_t count = 0;
  if (std::strcmp(path, "/proc/self/fd") == 0) {
    DIR* const directory = ::opendir(path);
    while (::readdir(directory) != nullptr) ++count;
    ::closedir(directory);
    return count;
  }
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    count += line.find(containing) != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Kills one of our workers now and then: often, but so that with eight of them one in six attempts
/// of a task that takes a second lives that long.
class killer {
 public:
  killer(unsigned seed, unsigned workers) : random_(seed), workers_(workers), thread_([this] { run(); }) {}
  ~killer() { stop(); }
  int stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
    return kills_;
  }

 private:
  void run() {
    while (!is_over_) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % longest_pause_us));
      const std::vector<pid_t> pids = children();
      // Fewer workers are killed less often: the last one has the same chances as any before.
      const std::size_t victim = random_() % workers_;
      if (victim < pids.size() && ::kill(pids[victim], SIGKILL) == 0) ++kills_;
    }
  }

  static constexpr unsigned longest_pause_us = is_sanitized ? 600'000 : 140'000;

  std::minstd_rand random_;
  const unsigned workers_;
  std::atomic<bool> is_over_{false};
  int kills_ = 0;
  std::thread thread_;
};

/// What a sweep has left behind, as a sentence; empty if nothing.
inline std::string leftovers(std::size_t descriptors_before) {
  if (!children().empty()) return std::to_string(children().size()) + " processes are left";
  if (const auto now = entries("/proc/self/fd", ""); now != descriptors_before) {
    return std::to_string(now) + " descriptors are open, before the sweep it were " +
           std::to_string(descriptors_before);
  }
  if (const auto left = entries("/proc/self/maps", "memfd:cppless"); left != 0) {
    return std::to_string(left) + " mappings of shared memory are left";
  }
  return {};
}

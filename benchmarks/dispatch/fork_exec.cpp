// SPDX-License-Identifier: Apache-2.0
#include "fork_exec.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

namespace bench {

void write_all(int fd, const void* data, std::size_t size) {
  for (const char* next = static_cast<const char*>(data); size > 0;) {
    const ssize_t written = ::write(fd, next, size);
    if (written < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "write");
    }
    if (written > 0) {
      next += written;
      size -= static_cast<std::size_t>(written);
    }
  }
}

void read_all(int fd, void* data, std::size_t size) {
  for (char* next = static_cast<char*>(data); size > 0;) {
    const ssize_t got = ::read(fd, next, size);
    if (got == 0) {
      throw std::system_error(EPIPE, std::generic_category(), "read");
    }
    if (got < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "read");
    }
    if (got > 0) {
      next += got;
      size -= static_cast<std::size_t>(got);
    }
  }
}

fork_exec::fork_exec(std::span<const std::uint8_t> bytes, answer_sheet& answers)
    : payload_(bytes),
      answers_(answers),
      child_(std::filesystem::read_symlink("/proc/self/exe").parent_path() /
             "bench_dispatch_child") {}

fork_exec::~fork_exec() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
}

void fork_exec::submit(std::uint64_t index) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  std::thread([this, index] { watch(index); }).detach();
}

void fork_exec::watch(std::uint64_t index) {
  std::uint64_t answer = 0;
  try {
    answer = run_child(index);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fork+exec, task %llu: %s\n", static_cast<unsigned long long>(index),
                 error.what());
  }
  const std::lock_guard lock(mutex_);
  answers_[index] = answer;
  ++completed_;
  --running_;
  changed_.notify_all();
}

void fork_exec::wait_one() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ > 0; });
  --completed_;
}

std::uint64_t fork_exec::run_child(std::uint64_t index) const {
  int to_child[2], from_child[2];
  if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  const pid_t child = fork();
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (child == 0) {
    dup2(to_child[0], 0);
    dup2(from_child[1], 1);
    execl(child_.c_str(), child_.c_str(), nullptr);
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  const std::uint64_t header[2] = {index, payload_.size()};
  write_all(to_child[1], header, sizeof header);
  write_all(to_child[1], payload_.data(), payload_.size());
  close(to_child[1]);
  std::uint64_t answer = 0;
  read_all(from_child[0], &answer, sizeof answer);
  close(from_child[0]);
  waitpid(child, nullptr, 0);
  return answer;
}

}  // namespace bench

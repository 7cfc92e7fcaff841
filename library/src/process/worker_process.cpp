// SPDX-License-Identifier: Apache-2.0
#include "process/worker_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system_call.hpp"
#include "process/shared_layout.hpp"
#include "process/spawn_settings.hpp"
#include "trace/progress.hpp"

namespace cppless::detail {
namespace {

constexpr std::size_t worker_memory_size = std::size_t{64} << 30;
constexpr std::size_t smallest_worker_memory = std::size_t{1} << 30;

}  // namespace

worker_process worker_process::start(std::uint32_t index, const worker_environment& with) {
  worker_process made;
  made.memory_ = std::make_shared<const shared_memory>(
      shared_memory::create("cppless-worker", worker_memory_size, smallest_worker_memory));
  int ends[2];
  check_system_call(::pipe2(ends, O_CLOEXEC), "pipe2");
  made.output_ = moved_high(ends[0]);
  const file_descriptor write_end = moved_high(ends[1]);
  ::fcntl(made.output_.get(), F_SETFL, O_NONBLOCK);

  spawn_settings settings;
  check_spawn(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0),
              "addopen");
  settings.give(write_end.get(), 1);
  settings.give(write_end.get(), 2);
  settings.give(with.control, control_descriptor);
  settings.give(with.requests, request_descriptor);
  settings.give(made.memory_->descriptor(), worker_memory_descriptor);
  settings.give(with.bell, bell_descriptor);
  settings.close_from(bell_descriptor + 1);
  check_spawn(::posix_spawnattr_setsigmask(&settings.attributes, &with.signal_mask), "setsigmask");
  check_spawn(::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK), "setflags");

  made.pid_ = settings.start_own_image(std::string(worker_variable) + "=" + std::to_string(index));
  made.pid_descriptor_ =
      file_descriptor(static_cast<int>(::syscall(SYS_pidfd_open, made.pid_, 0)));
  if (!made.pid_descriptor_) {
    ::kill(made.pid_, SIGKILL);
    check_system_call(-1, "pidfd_open", std::to_string(made.pid_));
  }
  return made;
}

void worker_process::kill() const noexcept {
  // Through the descriptor: the number may belong to another process by now.
  ::syscall(SYS_pidfd_send_signal, pid_descriptor_.get(), SIGKILL, nullptr, 0);
}

std::string worker_process::reap() noexcept {
  siginfo_t info{};
  constexpr auto by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD
  const int result = retry_if_interrupted([&] {
    return ::waitid(by_descriptor, static_cast<id_t>(pid_descriptor_.get()), &info, WEXITED);
  });
  const std::string who = "worker process " + std::to_string(std::exchange(pid_, -1));
  pid_descriptor_.reset();
  if (result != 0) return who + " ended (its status was collected by somebody else)";
  if (info.si_code == CLD_EXITED) return who + " exited with code " + std::to_string(info.si_status);
  return who + " was killed by signal " + std::to_string(info.si_status) + " (" +
         ::strsignal(info.si_status) + ")";
}

bool worker_process::show_output(const std::string& task_name, bool ends) {
  char buffer[16384];
  for (;;) {
    const ssize_t count = ::read(output_.get(), buffer, sizeof buffer);
    if (count <= 0) break;
    unfinished_line_.append(buffer, static_cast<std::size_t>(count));
    show_lines(task_name, false);
  }
  show_lines(task_name, ends);
  return !unfinished_line_.empty();
}

void worker_process::show_lines(const std::string& task_name, bool ends) {
  constexpr std::size_t longest_line = 1 << 16;
  if (unfinished_line_.empty()) return;
  std::string shown;
  std::size_t at = 0;
  while (at < unfinished_line_.size()) {
    std::size_t end = unfinished_line_.find('\n', at);
    if (end == std::string::npos) {
      if (!ends && unfinished_line_.size() - at < longest_line) break;
      end = unfinished_line_.size();
    }
    shown += "[" + task_name + "] ";
    shown.append(unfinished_line_, at, end - at);
    shown += '\n';
    at = end + 1;
  }
  unfinished_line_.erase(0, std::min(at, unfinished_line_.size()));
  if (shown.empty()) return;
  clear_progress();
  std::string_view rest = shown;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace cppless::detail

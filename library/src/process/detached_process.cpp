// SPDX-License-Identifier: Apache-2.0
#include "process/detached_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/shared_memory.hpp"
#include "process/detached_spool.hpp"
#include "process/spawn_settings.hpp"
#include "process/task_limits_guard.hpp"
#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

constexpr int detached_request_descriptor = 3;
constexpr int ready_descriptor = 4;
constexpr char is_kept[] = "kept";
constexpr int longest_start_ms = 60'000;
constexpr int keeper_failed = 70;  // EX_SOFTWARE

// What the keeper writes until it is at work, or its last words; within a minute.
std::string answer_of(int from) {
  std::string text;
  const std::uint64_t until = now_ns() + std::uint64_t{longest_start_ms} * 1'000'000;
  for (char part[512];;) {
    pollfd wanted{from, POLLIN, 0};
    const std::uint64_t now = now_ns();
    const int left = now < until ? static_cast<int>((until - now) / 1'000'000) + 1 : 0;
    const int ready = retry_if_interrupted([&] { return ::poll(&wanted, 1, left); });
    if (ready == 0) return "it was not ready after 60 s";
    const ssize_t count = ready < 0 ? -1 : ::read(from, part, sizeof part);
    if (count <= 0) return text.empty() ? "it ended without a word" : text;
    text.append(part, static_cast<std::size_t>(count));
  }
}

// The keeper's parent, which has ended by then or hangs before `main`.
void end(pid_t process, bool is_slow) {
  if (is_slow) ::kill(process, SIGKILL);
  retry_if_interrupted([&] { return ::waitpid(process, nullptr, 0); });
}

shared_memory in_memory(const entry& what, const char* result_type,
                        std::span<const std::byte> request) {
  heap_sink all;
  encode(all, what.identity());
  encode(all, std::string(result_type));
  encode(all, std::uint64_t{request.size()});
  all.write(request.data(), request.size());
  shared_memory memory = shared_memory::create("cppless-detached", all.size());
  std::memcpy(memory.data(), all.data(), all.size());
  return memory;
}

/// What the keeper knows of its task.
struct kept_task {
  detached_spool spool;
  detached_key key;
  shared_memory memory;
  const entry* what = nullptr;
  std::string result_type;
  std::span<const std::byte> request;
  task_limits limits;
};

kept_task take_over(const char* key_text) {
  const auto key = key_from(key_text);
  if (!key) throw rejected(std::string(detached_variable) + " names no task");
  ::fcntl(detached_request_descriptor, F_SETFD, FD_CLOEXEC);  // not for programs that the task starts
  kept_task task{detached_spool::open(false), *key,
                 shared_memory::attach(file_descriptor(detached_request_descriptor),
                                       access::read_only),
                 nullptr, {}, {}, {}};
  source from(task.memory.data(), task.memory.size());
  const auto identity = decode<std::uint64_t>(from);
  task.what = find_entry(identity);
  if (task.what == nullptr) throw rejected("its program has no such task");
  task.result_type = decode<std::string>(from);
  const auto size = decode<std::uint64_t>(from);
  task.request = {from.take(size), static_cast<std::size_t>(size)};
  task.limits = limits_in_force(task.what->limits);
  task.spool.keep(*key, task.what->name());
  return task;
}

// In the keeper's child.
int run_task(const kept_task& task, std::uint64_t timeout_ns) {
  const char* const name = task.what->name();
  const std::uint64_t memory_bytes = task.limits.memory_bytes;
  detached_outcome outcome{task.result_type, {}, std::nullopt};
  heap_sink result;
  {
    task_limits_guard limits(timeout_ns, memory_bytes);
    try {
      source from(task.request.data(), task.request.size());
      task.what->run(from, result);
    } catch (const std::bad_alloc&) {
      limits.lift();
      const described_exception thrown = describe_current_exception();
      outcome.reason = failure{error_kind::task_failed, memory_bytes != 0
                                                            ? out_of_memory_text(name, memory_bytes)
                                                            : failed_text(name, thrown),
                               thrown.type};
    } catch (...) {
      const described_exception thrown = describe_current_exception();
      outcome.reason = failure{error_kind::task_failed, failed_text(name, thrown), thrown.type};
    }
  }
  if (!outcome.reason) outcome.result = result.release();
  std::fflush(nullptr);
  task.spool.write(task.key, outcome);
  return 0;
}

std::string words_of(pid_t process, int status) {
  const std::string who = "process " + std::to_string(process);
  if (WIFEXITED(status)) return who + " exited with code " + std::to_string(WEXITSTATUS(status));
  return who + " was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
         ::strsignal(WTERMSIG(status)) + ")";
}

// Runs the task until it has an outcome. True in a child, which then runs it.
bool keep_until_ended(const kept_task& task, std::uint64_t& timeout_ns) {
  const task_limits& limits = task.limits;
  const std::uint64_t begin = now_ns();
  const auto fail = [&](error_kind kind, const std::string& message) {
    task.spool.write(task.key, {task.result_type, {}, failure{kind, message}});
  };
  std::string how;
  for (unsigned attempt = 0; attempt < std::max(limits.attempts, 1u); ++attempt) {
    const std::uint64_t started = now_ns();
    timeout_ns = limits.timeout_ns;
    if (limits.deadline_ns != 0) {
      const std::uint64_t gone = std::min(started - begin, limits.deadline_ns - 1);
      const std::uint64_t left = limits.deadline_ns - gone;
      timeout_ns = timeout_ns == 0 ? left : std::min(timeout_ns, left);
    }
    const pid_t keeper = ::getpid();
    const pid_t child = check_system_call(::fork(), "fork");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::prctl(PR_SET_NAME, "cppless-task");
      if (::getppid() != keeper) ::_exit(keeper_failed);
      return true;
    }
    int status = 0;
    retry_if_interrupted([&] { return ::waitpid(child, &status, 0); });
    // Where the folder is gone the result has been collected already.
    if (task.spool.has_ended(task.key) || !task.spool.is_known(task.key)) return false;
    const std::uint64_t now = now_ns();
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (was_killed && timeout_ns != 0 && now - started >= timeout_ns) {
      const bool is_over = limits.deadline_ns != 0 && now - begin >= limits.deadline_ns;
      fail(error_kind::timeout,
           timeout_text(task.what->name(), is_over ? limits.deadline_ns : limits.timeout_ns));
      return false;
    }
    how = words_of(child, status);
  }
  fail(error_kind::lost, std::string("task ") + task.what->name() + " was lost: " + how + ", attempt " +
                             std::to_string(limits.attempts) + " of " +
                             std::to_string(limits.attempts) + "; what it printed is in '" +
                             task.spool.log_of(task.key) + "'");
  return false;
}

void say(const std::string& text) noexcept {
  [[maybe_unused]] const auto written = ::write(ready_descriptor, text.data(), text.size());
  ::close(ready_descriptor);
}

}  // namespace

detached_key start_detached(const entry& what, const char* result_type,
                            std::span<const std::byte> request) {
  const shared_memory memory = in_memory(what, result_type, request);
  const detached_spool spool = detached_spool::open(true);
  spool.remove_old();
  const detached_key key = spool.add();
  const std::string path = spool.log_of(key);
  const file_descriptor log = moved_high(check_system_call(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600), "open",
      path));
  int ends[2];
  check_system_call(::pipe2(ends, O_CLOEXEC), "pipe2");
  const file_descriptor answer = moved_high(ends[0]);
  file_descriptor ready = moved_high(ends[1]);

  spawn_settings settings;
  check_spawn(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0),
              "addopen");
  settings.give(log.get(), 1);
  settings.give(log.get(), 2);
  settings.give(memory.descriptor(), detached_request_descriptor);
  settings.give(ready.get(), ready_descriptor);
  settings.close_from(ready_descriptor + 1);
  sigset_t none;
  ::sigemptyset(&none);
  check_spawn(::posix_spawnattr_setsigmask(&settings.attributes, &none), "setsigmask");
  check_spawn(::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK), "setflags");
  const pid_t process =
      settings.start_own_image(std::string(detached_variable) + "=" + id_text(key));
  ready.reset();
  const std::string said = answer_of(answer.get());
  end(process, said != is_kept);
  if (said == is_kept) return key;
  spool.remove(key);
  throw rejected(std::string("task ") + what.name() + " could not be detached: its process said: " +
                 said);
}

int run_detached(const char* key_text) {
  ::setsid();  // no terminal's interrupt or end reaches it
  const pid_t keeper = ::fork();
  if (keeper != 0) {
    if (keeper < 0) say(std::string("fork failed: ") + std::strerror(errno));
    ::_exit(keeper < 0 ? keeper_failed : 0);
  }
  ::prctl(PR_SET_NAME, "cppless-keeper");
  ::unsetenv("CPPLESS_TRACE");  // the file belongs to the program that dispatched the task
  try {
    std::optional<kept_task> task;
    try {
      task.emplace(take_over(key_text));
    } catch (const error& reason) {
      say(reason.what());
      return keeper_failed;
    }
    say(is_kept);
    std::uint64_t timeout_ns = 0;
    return keep_until_ended(*task, timeout_ns) ? run_task(*task, timeout_ns) : 0;
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "cppless: detached task %s: %s\n", key_text, reason.what());
    return keeper_failed;
  }
}

}  // namespace cppless::detail

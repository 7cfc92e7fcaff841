// SPDX-License-Identifier: Apache-2.0
#include "process/task_limits_guard.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "base/system_call.hpp"

namespace cppless::detail {
namespace {

// Size of the process's private writable memory: what RLIMIT_DATA counts.
std::uint64_t data_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  unsigned long long pages = 0;
  const int found =
      file == nullptr ? 0 : std::fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages);
  if (file != nullptr) std::fclose(file);
  if (found != 1) throw rejected("cannot read /proc/self/statm to set a memory limit");
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

task_limits_guard::task_limits_guard(std::uint64_t timeout_ns, std::uint64_t memory_bytes) {
  if (memory_bytes != 0) {
    rlimit limit{};
    check_system_call(::getrlimit(RLIMIT_DATA, &limit), "getrlimit", "RLIMIT_DATA");
    previous_memory_limit_ = limit.rlim_cur;
    const rlim_t wanted = data_bytes() + memory_bytes;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted
                                                                                : limit.rlim_max;
    check_system_call(::setrlimit(RLIMIT_DATA, &limit), "setrlimit", "RLIMIT_DATA");
    has_memory_limit_ = true;
  }
  if (timeout_ns != 0) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    check_system_call(::timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
    timer_ = timer;
    has_timer_ = true;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    check_system_call(::timer_settime(timer, 0, &when, nullptr), "timer_settime");
  }
}

void task_limits_guard::lift() noexcept {
  if (has_timer_) ::timer_delete(static_cast<timer_t>(timer_));
  has_timer_ = false;
  if (!has_memory_limit_) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = previous_memory_limit_;
  ::setrlimit(RLIMIT_DATA, &limit);
  has_memory_limit_ = false;
}

std::uint64_t peak_resident_bytes() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace cppless::detail

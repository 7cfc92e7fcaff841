// SPDX-License-Identifier: Apache-2.0
#include "process/program.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cppless/errors.hpp>

#include "process/detached_process.hpp"
#include "process/shared_layout.hpp"
#include "process/worker_loop.hpp"
#include "task/task_list.hpp"

namespace cppless::detail {
namespace {

bool was_entered = false;

constexpr int worker_failed = 70;  // EX_SOFTWARE

int run_worker(const std::string& index_text) {
  std::uint32_t index = 0;
  const char* const end = index_text.data() + index_text.size();
  if (std::from_chars(index_text.data(), end, index).ptr != end) {
    std::fprintf(stderr, "cppless: %s='%s' is not a number\n", worker_variable, index_text.c_str());
    return worker_failed;
  }
  // The host decides what an interrupt from the terminal means; workers end with the host.
  ::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "cppless-worker");
  try {
    worker_loop loop(index);
    if (loop.control().host_pid != static_cast<std::uint64_t>(::getppid())) return 0;
    loop.run();
    return 0;
  } catch (const error& reason) {
    std::fprintf(stderr, "cppless: worker %u: %s\n", index, reason.what());
    return worker_failed;
  }
}

}  // namespace

bool can_start_workers() noexcept { return was_entered; }

int run_program(int argc, char** argv, int (*program_main)(int, char**)) {
  was_entered = true;
  check_entries_are_distinct();
  if (const char* const file = std::getenv(task_list_variable)) return write_task_list(file);
  if (const char* const index = std::getenv(worker_variable)) {
    const std::string text = index;
    ::unsetenv(worker_variable);  // programs that a task starts are not workers
    return run_worker(text);
  }
  if (const char* const task = std::getenv(detached_variable)) {
    const std::string text = task;
    ::unsetenv(detached_variable);
    return run_detached(text.c_str());
  }
  return program_main(argc, argv);
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
/// What CPPLESS_TRACE costs a task: the empty task of dispatch.cpp in two processes that take turns,
/// one of which writes a trace. A process decides that once, so each needs one of its own.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <system_error>

#include "cppless_caller.hpp"
#include "pinned.hpp"

namespace {

struct sample {
  double us_per_call;
  bool is_right;
};

/// A process with one worker that measures when it is asked to.
class measuring_process {
 public:
  measuring_process(const char* trace, std::size_t in_flight) {
    int questions[2], answers[2];
    if (::pipe(questions) != 0 || ::pipe(answers) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(questions[1]);
      ::setenv("CPPLESS_TRACE", trace, 1);
      serve(questions[0], answers[1], in_flight);
      std::exit(0);
    }
    ::close(questions[0]);
    ::close(answers[1]);
    question_ = questions[1];
    answer_ = answers[0];
  }
  measuring_process(const measuring_process&) = delete;
  measuring_process& operator=(const measuring_process&) = delete;
  ~measuring_process() {
    ::close(question_);
    ::waitpid(child_, nullptr, 0);
    ::close(answer_);
  }

  double measure() {
    if (::write(question_, "?", 1) != 1 || ::read(answer_, &last_, sizeof last_) != sizeof last_) {
      throw std::system_error(errno, std::generic_category(), "the measuring process is gone");
    }
    return last_.us_per_call;
  }
  bool was_right() const { return last_.is_right; }

 private:
  static void serve(int questions, int answers, std::size_t in_flight) {
    constexpr std::size_t calls = 50'000;
    const bench::payload nothing;
    bench::answer_sheet sheet;
    std::optional<bench::pinned> second_core(1);
    bench::cppless_caller caller(1, nothing, sheet);
    second_core.reset();
    const bench::pinned first_core(0);
    for (char question; ::read(questions, &question, 1) == 1;) {
      sample taken{};
      taken.us_per_call = bench::us_per_call(caller, sheet, calls, in_flight);
      taken.is_right = sheet.right(nothing);
      if (::write(answers, &taken, sizeof taken) != sizeof taken) return;
    }
  }

  pid_t child_ = -1;
  int question_ = -1;
  int answer_ = -1;
  sample last_{};
};

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("dispatch_tracing", argc, argv);
  for (const bench::workload& work : bench::workloads) {
    if (work.payload_bytes != 0 || !suite.wants(work.name)) continue;
    // In memory: a disk would add what it takes itself.
    const std::string file = "/dev/shm/cppless-bench-trace-" + std::to_string(::getpid()) + ".json";
    {
      measuring_process off("", work.in_flight);
      measuring_process on(file.c_str(), work.in_flight);
      const auto row = [](const char* name, measuring_process& process) {
        return bench::implementation{name, [&] { return process.measure(); },
                                     [&] { return process.was_right(); }};
      };
      suite.compare(work.name, bench::unit::us_per_call, "not traced",
                    {row("not traced", off), row("traced", on)});
    }
    ::unlink(file.c_str());
  }
  return suite.finish();
}

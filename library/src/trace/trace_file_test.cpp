// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <cppless/detail/trace/task_trace.hpp>

namespace {

using cppless::detail::is_tracing;
using cppless::detail::trace_file;
using cppless::detail::trace_lines;

std::string contents(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

struct outcome {
  int status = 0;  ///< As waitpid has it.
  std::string trace;
  std::string said;  ///< On standard error.

  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
  bool is_complete() const {
    return trace.starts_with("[\n{") && trace.ends_with("}\n]\n") && trace.find("},\n]") == trace.npos;
  }
  /// How many lines hold `text`.
  long count(const std::string& text) const {
    std::istringstream lines(trace);
    long found = 0;
    for (std::string line; std::getline(lines, line);) found += line.find(text) != line.npos;
    return found;
  }
};

/// Lets `program` run in a process of its own whose trace goes to a file; or to `path`.
outcome traced(const std::function<void()>& program, const std::string& path = {}) {
  char directory[] = "/tmp/cppless-trace-test-XXXXXX";
  REQUIRE(::mkdtemp(directory) != nullptr);
  const std::string own = std::string(directory) + "/run.json";
  const std::string messages = std::string(directory) + "/messages";
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGABRT}) ::signal(number, SIG_DFL);
    [[maybe_unused]] const auto* moved = std::freopen(messages.c_str(), "w", stderr);
    ::setenv("CPPLESS_TRACE", path.empty() ? own.c_str() : path.c_str(), 1);
    program();
    std::exit(0);
  }
  outcome result;
  CHECK(::waitpid(child, &result.status, 0) == child);
  result.trace = contents(own);
  result.said = contents(messages);
  ::unlink(own.c_str());
  ::unlink(messages.c_str());
  ::rmdir(directory);
  return result;
}

void write_event(std::string_view name, std::string_view text = "x") {
  trace_lines lines(*trace_file::get());
  lines.span("phase", name, {1, 2}, 1000, 2500).argument("text", text).close();
  lines.count_task();
}

void write_one() {
  trace_file::start();
  write_event("one");
}

TEST_CASE("a program that ends leaves a complete trace") {
  const outcome left = traced(write_one);
  CHECK(left.status == 0);
  CHECK(left.said == "");
  CHECK(left.is_complete());
  CHECK(left.count(R"({"cat":"phase","ph":"X","name":"one","pid":1,"tid":2,"ts":1,"dur":1.500,)"
                   R"("args":{"text":"x"}},)") == 1);
  CHECK(left.count(R"("tasks":1)") == 1);
}

TEST_CASE("a program that is ended by a signal leaves a complete trace and ends by that signal") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const outcome left = traced([=] {
      write_one();
      ::kill(::getpid(), number);
    });
    CHECK(left.signal() == number);
    CHECK(left.is_complete());
    CHECK(left.count("one") == 1);
  }
}

void throw_something() { throw 7; }

// From a function that cannot throw: in the test the framework would catch it.
void end_by_exception() noexcept {
  write_one();
  throw_something();
}

TEST_CASE("a program that dies of an exception leaves a complete trace") {
  const outcome left = traced(end_by_exception);
  CHECK(left.signal() == SIGABRT);
  CHECK(left.is_complete());
  CHECK(left.count("one") == 1);
}

TEST_CASE("a program that is killed leaves whole lines") {
  const outcome left = traced([] {
    trace_file::start();
    for (int i = 0; i < 3000; ++i) write_event("many");
    ::kill(::getpid(), SIGKILL);
  });
  CHECK(left.signal() == SIGKILL);
  CHECK(left.trace.ends_with("},\n"));
  CHECK(left.count("many") > 1000);
}

TEST_CASE("a program keeps its own signal handlers") {
  const outcome left = traced([] {
    ::signal(SIGTERM, [](int) { ::_exit(9); });
    write_one();
    ::kill(::getpid(), SIGTERM);
  });
  CHECK(WEXITSTATUS(left.status) == 9);
}

TEST_CASE("what several threads write is in the file line by line, also when one of them ends it") {
  const outcome left = traced([] {
    trace_file::start();
    std::vector<std::thread> team;
    for (int i = 0; i < 4; ++i) {
      team.emplace_back([] {
        for (int j = 0; j < 5000; ++j) write_event("event");
      });
    }
    for (std::thread& each : team) each.join();
    std::thread([] {
      write_event("last");
      std::exit(0);
    }).join();
  });
  CHECK(left.is_complete());
  CHECK(left.count(R"("name":"event")") == 20'000);
  CHECK(left.count(R"(,"dur":1.500,"args":{"text":"x"}},)") == 20'001);
  CHECK(left.count(R"("name":"last")") == 1);
}

TEST_CASE("text of any kind is written as JSON") {
  const outcome left = traced([] {
    trace_file::start();
    write_event("a\"b\\c\nd", "\xff\xc3\xbc\xe2\x82\xed\xa0\x80|");
    write_event(std::string(100'000, '\x01'));
  });
  CHECK(left.is_complete());
  CHECK(left.count(R"("name":"a\"b\\c\u000ad")") == 1);
  const std::string bad = "\xef\xbf\xbd";
  CHECK(left.count("\"text\":\"" + bad + "\xc3\xbc" + bad + bad + bad + bad + bad + "|\"") == 1);
  CHECK(left.trace.size() < 10'000);
}

TEST_CASE("a file that cannot be opened is said, and the program goes on untraced") {
  const outcome left = traced(
      [] {
        trace_file::start();
        if (trace_file::get() != nullptr || is_tracing) std::exit(1);
      },
      "/nowhere/run.json");
  CHECK(left.status == 0);
  CHECK(left.said ==
        "cppless: this run is not traced: open(/nowhere/run.json) failed: No such file or directory "
        "(errno 2)\n");
}

TEST_CASE("a file that takes no more is said once, and the program goes on") {
  const outcome left = traced(
      [] {
        trace_file::start();
        for (int i = 0; i < 10'000; ++i) write_event("event");
      },
      "/dev/full");
  CHECK(left.status == 0);
  CHECK(left.said ==
        "cppless: the trace ends early: write(/dev/full) failed: No space left on device (errno 28)\n");
}

TEST_CASE("neither children made by fork nor programs that are started write to the trace") {
  const outcome left = traced([] {
    write_one();
    if (const pid_t child = ::fork(); child == 0) {
      std::exit(trace_file::get() == nullptr && std::getenv("CPPLESS_TRACE") == nullptr ? 0 : 1);
    } else {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) std::exit(1);
    }
  });
  CHECK(left.status == 0);
  CHECK(left.is_complete());
  CHECK(left.count("one") == 1);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// What shows from outside of the process: sleeping workers, and how a stack overflow is reported.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <cppless/fiber.hpp>

using namespace std::chrono_literals;
namespace fiber = cppless::fiber;

namespace {

/// How often workers have been put on a core.
long switches_of_workers() {
  long sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm") >> std::ws, name);
    if (name != "cppless-fiber") continue;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const std::size_t at = line.find("ctxt_switches:");
      if (at != line.npos) sum += std::stol(line.substr(at + 14));
    }
  }
  return sum;
}

/// Runs this program's hidden test and returns its standard error, and how it ended.
std::string stderr_of_child(const char* hidden_test, int& status) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  // Its count of tests is not ours.
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const std::string filter = std::string("--test-case=") + hidden_test;
  char program[] = "/proc/self/exe", no_skip[] = "--no-skip";
  char* const arguments[] = {program, const_cast<char*>(filter.c_str()), no_skip, nullptr};
  pid_t child = 0;
  REQUIRE(::posix_spawn(&child, program, &actions, nullptr, arguments, environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(child, &status, 0);
  return text;
}

struct eats_its_stack {
  [[gnu::noinline]] static int eat(int depth) {
    volatile char frame[512] = {};
    frame[depth % 512] = 1;
    return depth == 1'000'000 ? 0 : eat(depth + 1) + frame[depth % 512];
  }
  int operator()() const { return eat(0); }
};

}  // namespace

TEST_CASE("Workers without work sleep: nothing runs until there is some") {
  fiber::runtime run(3);
  run.run([] {});
  fiber::promise<void> promise;
  const auto parked = fiber::async([waits = promise.get_future()]() mutable { waits.get(); });
  // They fall asleep some time after their last task; then they must stay asleep.
  bool stood_still = false;
  for (int attempt = 0; attempt < 100 && !stood_still; ++attempt) {
    const long before = switches_of_workers();
    CHECK(before > 0);
    std::this_thread::sleep_for(100ms);
    stood_still = switches_of_workers() == before;
  }
  CHECK(stood_still);
  promise.set_value();
}

TEST_CASE("hidden: a task that eats its stack" * doctest::skip()) {
  fiber::runtime run({.workers = 1, .stack_size = 65536});
  fiber::future<int> future = fiber::async(eats_its_stack());
  static_cast<void>(future.wait_for(1h));
}

TEST_CASE("hidden: a null pointer is followed" * doctest::skip()) {
  fiber::runtime run(1);
  run.run([] {
    volatile int* volatile nowhere = nullptr;  // else g++ drops the access
    *nowhere = 1;
  });
}

TEST_CASE("A stack overflow ends the program, and names the task and the stack's size") {
  int status = 0;
  const std::string text = stderr_of_child("hidden: a task that eats its stack", status);
  CHECK(text.find("stack overflow in the fiber of task") != text.npos);
  CHECK(text.find("eats_its_stack") != text.npos);
  CHECK(text.find("65536 bytes is full") != text.npos);
  CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("Another fault on a fiber is not taken for an overflow") {
  int status = 0;
  const std::string text = stderr_of_child("hidden: a null pointer is followed", status);
  CHECK(text.find("stack overflow in") == text.npos);
  CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

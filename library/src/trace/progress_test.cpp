// SPDX-License-Identifier: Apache-2.0
#include "trace/progress.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace {

using namespace cppless::detail;

/// What `program` shows on standard error, with CPPLESS_PROGRESS set to `wish`.
std::string shown(const char* wish, const std::function<void()>& program) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(::fileno(file), STDERR_FILENO);
    ::setenv("CPPLESS_PROGRESS", wish, 1);
    program();
    ::_exit(0);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  std::rewind(file);
  char text[4096];
  const std::size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return {text, size};
}

void wait_until_due() { std::this_thread::sleep_until(next_progress()); }

constexpr const char* removed = "\r\x1b[K";

TEST_CASE("a short wait shows nothing, a longer one a line that goes when nothing is left") {
  const std::string text = shown("always", [] {
    if (!progress_is_shown()) ::_exit(1);
    next_progress();
    draw_progress(1, 4);  // too early
    wait_until_due();
    draw_progress(2, 4);
    draw_progress(3, 4);  // too soon after the one before
    draw_progress(4, 4);
  });
  CHECK(text.starts_with("\r[###############...............] 2/4 tasks, "));
  CHECK(text.ends_with(std::string(" s left\x1b[K") + removed));
  CHECK(text.find("1/4") == text.npos);
  CHECK(text.find("3/4") == text.npos);
}

TEST_CASE("a second map is counted from nothing") {
  const std::string text = shown("always", [] {
    next_progress();
    draw_progress(100, 100);
    wait_until_due();
    draw_progress(100, 108);
    wait_until_due();
    draw_progress(106, 108);
  });
  CHECK(text.find(" 0/8 tasks\x1b[K") != text.npos);
  CHECK(text.find(" 6/8 tasks, ") != text.npos);
}

TEST_CASE("who does not want to see progress sees none, nor does a file") {
  for (const char* const wish : {"never", "auto"}) {
    CHECK(shown(wish, [] { ::_exit(progress_is_shown() ? 1 : 0); }) == "");
  }
}

}  // namespace

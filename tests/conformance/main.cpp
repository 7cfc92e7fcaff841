// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "../lambda/stub.hpp"
#include "under_test.hpp"

namespace {

// A test that hangs must fail, and say which one it was.
constexpr unsigned most_seconds_per_test = is_sanitized ? 300 : 90;
char running[256];

void give_up(int) {
  constexpr char text[] = "\nTEST CASE HANGS: ";
  [[maybe_unused]] auto n = ::write(STDERR_FILENO, text, sizeof text - 1);
  n = ::write(STDERR_FILENO, running, ::strnlen(running, sizeof running));
  n = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(124);
}

struct watchdog : doctest::IReporter {
  explicit watchdog(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData& test) override {
    std::strncpy(running, test.m_name, sizeof running - 1);
    ::alarm(most_seconds_per_test);
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { ::alarm(0); }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

DOCTEST_REGISTER_LISTENER("watchdog", 1, watchdog);

int main(int argc, char** argv) {
  test::start_stub_if_asked();
  ::signal(SIGALRM, &give_up);
  doctest::Context context(argc, argv);
  return context.run();
}

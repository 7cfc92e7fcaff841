// SPDX-License-Identifier: Apache-2.0
#include "lambda/function_process.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cppless/errors.hpp>

#include "lambda/runtime_loop.hpp"

namespace cppless::detail {
namespace {

constexpr int wrongly_started = 64;  // EX_USAGE
constexpr int function_failed = 70;  // EX_SOFTWARE

// Written to by the signal handler. A descriptor and no blocked signal: the programs that a task
// starts would inherit the latter.
int stop_event = -1;

void on_termination(int) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_event, &one, sizeof one);
}

void end_on_termination() {
  stop_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = on_termination;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
}

// More than 1 where the platform sends several requests at once to one environment and says so
// (Lambda Managed Instances).
unsigned requests_at_once() {
  constexpr unsigned most = 1024;
  const char* const text = std::getenv("AWS_LAMBDA_MAX_CONCURRENCY");
  if (text == nullptr) return 1;
  unsigned said = 0;
  std::from_chars(text, text + std::strlen(text), said);
  return std::clamp(said, 1U, most);
}

const char* runtime_address() {
  const char* const address = std::getenv("AWS_LAMBDA_RUNTIME_API");
  if (address == nullptr) {
    std::fputs("cppless: this is a function for AWS Lambda: AWS_LAMBDA_RUNTIME_API is not set. "
               "`cppless invoke` runs it here\n", stderr);
  }
  return address;
}

}  // namespace

int run_function(const entry& served) {
  const char* const address = runtime_address();
  if (address == nullptr) return wrongly_started;
  end_on_termination();
  // A task that is killed shall not take the lines with it that it has printed.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::atomic<int> status{0};
  const auto serve = [&](runtime_loop::rank among) {
    try {
      runtime_loop(served, address, {}, among).run(stop_event);
    } catch (const error& reason) {
      std::fprintf(stderr, "cppless: %s\n", reason.what());
      status = function_failed;
      on_termination(SIGTERM);
    }
  };
  using rank = runtime_loop::rank;
  const unsigned at_once = requests_at_once();
  std::vector<std::thread> others;
  for (unsigned i = 1; i < at_once; ++i) others.emplace_back(serve, rank::next);
  serve(at_once == 1 ? rank::only : rank::first);
  for (std::thread& each : others) each.join();
  return status;
}

int run_function_of_handler() {
  const char* const address = runtime_address();
  if (address == nullptr) return wrongly_started;
  check_entries_are_distinct();
  const char* handler = std::getenv("_HANDLER");
  if (handler == nullptr) handler = "";
  const char* const end = handler + std::strlen(handler);
  std::uint64_t identity = 0;
  const bool is_number = std::from_chars(handler, end, identity, 16).ptr == end;
  const entry* const found = is_number && identity != 0 ? find_entry(identity) : nullptr;
  if (found == nullptr) {
    const std::string message = std::string("this program has no task '") + handler +
                                "': the handler must be a task's identity, 16 hexadecimal digits";
    std::fprintf(stderr, "cppless: %s\n", message.c_str());
    report_init_error(address, "Runtime.NoSuchHandler", message);
    return function_failed;
  }
  return run_function(*found);
}

}  // namespace cppless::detail

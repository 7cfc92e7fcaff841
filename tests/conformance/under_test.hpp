// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <cppless/cppless.hpp>
#include <cppless/fiber/this_fiber.hpp>

// The suite runs on whatever the environment names, in the host and inside tasks alike:
// CPPLESS_DISPATCHER and CPPLESS_WORKERS. A new dispatcher passes by being named there.

inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline cppless::instance make_instance() {
  if (variable("CPPLESS_TEST_VALUES") == "serialised") {
    using fibers = cppless::fiber_dispatcher;
    return fibers({.values = fibers::values::serialised}).create_instance();
  }
  return cppless::default_dispatcher().create_instance();
}

/// Tasks run in processes of their own: they may crash, be killed, and are held to their limits.
inline bool has_processes() {
  const std::string name = variable("CPPLESS_DISPATCHER");
  return name != "inline" && name != "fiber";
}

/// Tasks are run whether or not somebody waits for them, several at once.
inline bool runs_by_itself() { return variable("CPPLESS_DISPATCHER") != "inline"; }

/// Keeps its thread until the task is ended from outside; where nobody can do that, until it is asked to end.
inline void run_for_ever() {
  const std::stop_token stop = cppless::fiber_dispatcher::stop_token();
  while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// The same, and leaves its thread to others where there are few.
inline void sleep_for_ever() {
  const std::stop_token stop = cppless::fiber_dispatcher::stop_token();
  while (!stop.stop_requested()) {
    cppless::fiber::this_fiber::sleep_for(std::chrono::hours(1), stop);
  }
}

/// Tasks run where neither this machine's environment nor its words for a process's end are.
inline bool is_remote() { return variable("CPPLESS_DISPATCHER") == "lambda"; }

/// How many workers the dispatcher under test has.
inline unsigned worker_count() {
  const std::string text = variable("CPPLESS_WORKERS");
  return text.empty() ? std::thread::hardware_concurrency()
                      : static_cast<unsigned>(std::stoi(text));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CPPLESS_TEST_IS_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPPLESS_TEST_IS_SANITIZED 1
#endif
#if defined(CPPLESS_TEST_IS_SANITIZED)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// `full` where the code runs at full speed, less where a sanitizer slows it down or each task is a
/// request to a server that shares the machine.
inline int scaled(int full) {
  return full / (is_sanitized ? 10 : is_remote() ? 20 : 1);
}

/// The error that `action` throws, as kind and sentence; kind() of no error fails the test.
struct caught {
  bool any = false;
  cppless::error_kind kind{};
  cppless::task_id id = 0;
  std::string what;
  std::string remote_type;

  bool says(std::string_view text) const { return what.find(text) != std::string::npos; }
};

template <class F>
caught error_of(F&& action) {
  try {
    action();
  } catch (const cppless::task_failed& e) {
    return {true, e.kind(), e.id(), e.what(), e.remote_type()};
  } catch (const cppless::error& e) {
    return {true, e.kind(), e.id(), e.what(), {}};
  }
  return {};
}

// SPDX-License-Identifier: Apache-2.0
#include "execution/failure.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

#include <signal.h>
#include <sys/wait.h>

namespace platform::execution {
namespace {

// As Go's syscall.Signal.String() has them, for AWS's own process supervisor is written in Go.
std::string signal_name(int number) {
  switch (number) {
    case SIGHUP: return "hangup";
    case SIGINT: return "interrupt";
    case SIGQUIT: return "quit";
    case SIGILL: return "illegal instruction";
    case SIGTRAP: return "trace/breakpoint trap";
    case SIGABRT: return "aborted";
    case SIGBUS: return "bus error";
    case SIGFPE: return "floating point exception";
    case SIGKILL: return "killed";
    case SIGUSR1: return "user defined signal 1";
    case SIGSEGV: return "segmentation fault";
    case SIGUSR2: return "user defined signal 2";
    case SIGPIPE: return "broken pipe";
    case SIGALRM: return "alarm clock";
    case SIGTERM: return "terminated";
    case SIGXCPU: return "cpu time limit exceeded";
    case SIGSYS: return "bad system call";
    default: return "signal " + std::to_string(number);
  }
}

}  // namespace

outcome to_outcome(const failure& what, const invocation& work) {
  outcome result;
  result.function_error = "Unhandled";
  result.payload = !what.payload.empty() ? what.payload
                                         : error_payload(what.type, "RequestId: " + work.request_id + " Error: " + what.text);
  return result;
}

std::string error_payload(const std::string& type, const std::string& message) {
  const nlohmann::ordered_json body{{"errorType", type}, {"errorMessage", message}};
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string exit_text(int status) {
  if (WIFSIGNALED(status)) return "Runtime exited with error: signal: " + signal_name(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "Runtime exited without providing a reason";
  return "Runtime exited with error: exit status " + std::to_string(WEXITSTATUS(status));
}

std::string fixed(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", number);
  return text;
}

http::response runtime_status(unsigned status, const char* word) {
  return {status, {{"Content-Type", "application/json"}}, std::string("{\"status\":\"") + word + "\"}\n"};
}

http::response runtime_error(unsigned status, const char* type, const std::string& message) {
  return {status, {{"Content-Type", "application/json"}},
          nlohmann::json{{"errorMessage", message}, {"errorType", type}}.dump()};
}

}  // namespace platform::execution

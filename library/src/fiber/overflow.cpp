// SPDX-License-Identifier: Apache-2.0
#include "fiber/overflow.hpp"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "fiber/scheduler.hpp"

namespace cppless::fiber::detail {

namespace {

constexpr std::size_t signal_stack_size = 65536;
struct sigaction before_us;

void print(std::string_view text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// The function's type out of what __PRETTY_FUNCTION__ says of a template over it.
std::string_view readable(const char* name) noexcept {
  std::string_view text = name;
  if (const std::size_t at = text.find("F = "); at != text.npos) {
    text.remove_prefix(at + 4);
    if (const std::size_t end = text.find_last_of("];"); end != text.npos) {
      text = text.substr(0, end);
    }
  }
  return text;
}

/// Calls only what may be called in a signal handler.
void report(const processor& on) noexcept {
  char size[24];
  const auto end = std::to_chars(size, size + sizeof(size), on.of->stacks().stack_size());
  print("cppless: stack overflow in ");
  if (on.current != nullptr) {
    print("the fiber of task ");
    print(readable(on.current->kind->name));
  } else {
    print("a fiber");
  }
  print(": its stack of ");
  print({size, static_cast<std::size_t>(end.ptr - size)});
  print(" bytes is full (cppless::fiber::runtime::options::stack_size)\n");
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const processor* const mine = static_cast<const processor*>(current());
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (mine != nullptr && mine->fiber != nullptr && mine->of != nullptr && at < mine->fiber->low &&
      at >= mine->fiber->low - mine->of->stacks().guard_size()) {
    report(*mine);
    ::signal(signal, SIG_DFL);  // the same access faults again, and ends the program
  } else if (before_us.sa_flags & SA_SIGINFO) {
    before_us.sa_sigaction(signal, info, context);
  } else if (before_us.sa_handler == SIG_DFL || before_us.sa_handler == SIG_IGN) {
    ::signal(signal, SIG_DFL);
  } else {
    before_us.sa_handler(signal);
  }
}

}  // namespace

void report_overflows() {
  static const bool once = [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return ::sigaction(SIGSEGV, &ours, &before_us) == 0;
  }();
  static_cast<void>(once);
}

signal_stack::signal_stack() : memory_(new std::byte[signal_stack_size]) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = signal_stack_size;
  ::sigaltstack(&stack, nullptr);
}

signal_stack::~signal_stack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

}  // namespace cppless::fiber::detail

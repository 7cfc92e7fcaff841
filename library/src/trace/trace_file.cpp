// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <cppless/detail/trace/task_trace.hpp>

#include "base/system_call.hpp"

namespace cppless::detail {
namespace {

// Signals that end a process by default and come from outside, or from abort().
constexpr int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT};

// A thread that is just writing an event takes microseconds, one that empties its buffer hardly more.
constexpr int most_yields = 10'000;

thread_local trace_buffer* buffer_here = nullptr;

/// Gives the thread's buffer back when the thread ends. Beyond, at the end of the main thread,
/// buffer_here can still be used, as it has no destructor.
struct buffer_return {
  ~buffer_return() {
    if (trace_buffer* const left = std::exchange(buffer_here, nullptr)) {
      left->is_free.store(true, std::memory_order_release);
    }
  }
};

/// No signal handler of ours runs on this thread meanwhile.
class blocked_signals {
 public:
  blocked_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// For good. What this thread itself was at when a signal came, it will not go on with.
bool lock_for_ending(trace_buffer& buffer) noexcept {
  for (int yields = 0; buffer.is_busy.exchange(true, std::memory_order_acquire); ++yields) {
    if (&buffer == buffer_here) return true;
    if (yields == most_yields) return false;
    ::sched_yield();
  }
  return true;
}

void end_by_signal(int number) {
  const int code = errno;
  if (trace_file* const file = trace_file::get()) file->finish();
  errno = code;
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void finish_current() {
  if (trace_file* const file = trace_file::get()) file->finish();
}

}  // namespace

constinit std::atomic<trace_file*> trace_file::current_{nullptr};
constinit trace_file* trace_file::made_ = nullptr;

void trace_file::start() noexcept {
  static const bool done = [] {
    const char* const path = std::getenv("CPPLESS_TRACE");
    const std::string taken = path == nullptr ? "" : path;
    ::unsetenv("CPPLESS_TRACE");
    if (taken.empty()) return true;
    try {
      // For ever: whatever ends last may still have something to trace.
      made_ = new trace_file(taken);
      current_.store(made_, std::memory_order_release);
      made_->end_with_process();
      is_tracing.store(true, std::memory_order_relaxed);
    } catch (const error& reason) {
      std::fprintf(stderr, "cppless: this run is not traced: %s\n", reason.what());
    }
    return true;
  }();
  (void)done;
}

trace_file::trace_file(std::string path)
    : path_(std::move(path)),
      file_(moved_high(check_system_call(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666), "open",
          path_))),
      process_(static_cast<std::uint64_t>(::getpid())) {
  write_head();
}

void trace_file::write_head() {
  write("[\n");
  const std::string_view program = program_invocation_short_name;
  {
    trace_lines head(*this);
    head.span("cppless", "trace begins", {process_, process_}, 0, 0)
        .argument("format", std::uint64_t{1})
        .argument("program", program)
        .argument("began_ns", clock_.wall_ns())
        .close();
  }
  name(process_, program);
  flush(*buffer_of_this_thread());  // by its beginning a trace is known
}

void trace_file::end_with_process() noexcept {
  std::atexit(&finish_current);
  std::at_quick_exit(&finish_current);
  // A child made by fork has copies of the buffers, whose contents are its parent's to write.
  ::pthread_atfork(nullptr, nullptr, [] {
    is_tracing.store(false, std::memory_order_relaxed);
    current_.store(nullptr, std::memory_order_relaxed);
  });
  for (const int number : fatal_signals) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) continue;  // the program's
    struct sigaction ours {};
    ours.sa_handler = end_by_signal;
    ours.sa_flags = SA_RESTART;
    ::sigaction(number, &ours, nullptr);
  }
}

trace_buffer* trace_file::buffer_of_this_thread() {
  if (buffer_here != nullptr) return buffer_here;
  static thread_local const buffer_return returned;
  (void)returned;
  trace_buffer* at = buffers_.load(std::memory_order_acquire);
  for (; at != nullptr; at = at->next) {
    bool is_free = true;
    if (at->is_free.compare_exchange_strong(is_free, false, std::memory_order_acq_rel)) break;
  }
  if (at == nullptr) {
    at = new trace_buffer;
    at->next = buffers_.load(std::memory_order_relaxed);
    while (!buffers_.compare_exchange_weak(at->next, at, std::memory_order_release)) {
    }
  }
  return buffer_here = at;
}

bool trace_file::write(std::string_view text) noexcept {
  while (!text.empty() && !has_failed_.load(std::memory_order_relaxed)) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && !has_failed_.exchange(true)) {
      std::fprintf(stderr, "cppless: the trace ends early: write(%s) failed: %s (errno %d)\n",
                   path_.c_str(), std::strerror(errno), errno);
      is_tracing.store(false, std::memory_order_relaxed);
    }
  }
  return text.empty();
}

// The buffer is the caller's alone.
bool trace_file::flush(trace_buffer& buffer) noexcept {
  const blocked_signals whole;
  const std::size_t size = buffer.committed.load(std::memory_order_acquire);
  const bool good = write({buffer.text, size});
  buffer.committed.store(0, std::memory_order_release);
  return good;
}

void trace_file::finish() noexcept {
  const blocked_signals whole;
  if (is_finished_.exchange(true)) return;
  is_tracing.store(false, std::memory_order_relaxed);
  trace_buffer* const first = buffers_.load(std::memory_order_acquire);
  for (trace_buffer* at = first; at != nullptr; at = at->next) {
    if (lock_for_ending(*at)) flush(*at);
  }
  char last[160];
  const int size = std::snprintf(
      last, sizeof last,
      "{\"cat\":\"cppless\",\"ph\":\"i\",\"name\":\"trace ends\",\"pid\":%llu,\"tid\":%llu,"
      "\"ts\":0,\"s\":\"g\",\"args\":{\"tasks\":%llu}}\n]\n",
      static_cast<unsigned long long>(process_), static_cast<unsigned long long>(process_),
      static_cast<unsigned long long>(tasks_.load()));
  write({last, static_cast<std::size_t>(size)});
}

void trace_file::name(std::uint64_t process, std::string_view name) noexcept {
  trace_lines lines(*this);
  lines.metadata("process_name", {process, process}).argument("name", name).close();
}

}  // namespace cppless::detail

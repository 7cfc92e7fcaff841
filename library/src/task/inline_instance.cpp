// SPDX-License-Identifier: Apache-2.0
#include "task/inline_instance.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/ticks.hpp"
#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

void note_run(task_trace& of, std::uint64_t started, std::uint64_t ended) noexcept {
  of.dispatcher = "inline";
  of.started = started;
  of.ended = ended;
  of.worker_process = static_cast<std::uint64_t>(::getpid());
  of.worker_thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

void run(job& what, void (*succeed)(job&, source&), void (*fail)(job&, const failure&)) {
  execution_statistics& statistics = what.statistics;
  tick_clock& clock = tick_clock::get();
  const std::uint64_t started = clock.now();
  statistics.attempts = 1;
  heap_sink result;
  std::optional<failure> reason;
  update_scope updates;
  try {
    source request(what.payload.data(), what.payload.size());
    what.what.run(request, result);
  } catch (...) {
    const described_exception thrown = describe_current_exception();
    reason = failure{error_kind::task_failed, failed_text(what.what.name(), thrown), thrown.type};
  }
  const std::uint64_t ended = clock.now();
  clock.refine(ended);
  const std::uint64_t run_ns = clock.to_ns(ended - started);
  statistics.queue = std::chrono::nanoseconds(clock.to_ns(started - what.submitted));
  statistics.run = std::chrono::nanoseconds(run_ns);
  if (what.trace != nullptr) [[unlikely]] note_run(*what.trace, started, ended);
  if (what.limits.timeout_ns != 0 && run_ns > what.limits.timeout_ns) {
    reason = failure{error_kind::timeout, timeout_text(what.what.name(), what.limits.timeout_ns)};
  }
  if (reason) {
    fail(what, *reason);
  } else {
    updates.log.apply();
    source bytes(result.data(), result.size());
    succeed(what, bytes);
  }
}

}  // namespace

void inline_instance::send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>&) {
  queue_.push_back(std::move(sent));
}

void inline_instance::drive(time_point until) {
  std::unique_ptr<job> next;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty()) {
      next = queue_.pop_front();
      is_first = !std::exchange(has_run_, true);
    }
  }
  if (next == nullptr) {
    // Another thread, or a task further up this stack, is about to publish or dispatch.
    std::this_thread::sleep_until(std::min(until, std::chrono::steady_clock::now() +
                                                      std::chrono::milliseconds(1)));
    return;
  }
  next->statistics.cold = is_first;
  run(*next, [](job& done, source& result) { settle(done, result); },
      [](job& done, const failure& reason) { settle(done, reason); });
  job_list finished;
  finished.push_back(std::move(next));
  publish(std::move(finished), true);
}

bool inline_instance::cancel(task_id id) {
  job_list cancelled_job;
  {
    const std::lock_guard lock(mutex_);
    auto found = queue_.take_first([id](const job& each) { return each.statistics.id == id; });
    if (found == nullptr) return false;
    cancelled_job.push_back(std::move(found));
  }
  settle(*cancelled_job.first(),
         {error_kind::cancelled, "task " + std::to_string(id) + " was cancelled"});
  publish(std::move(cancelled_job), false);
  return true;
}

void inline_instance::shut_down() noexcept {
  job_list left;
  {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty()) left.push_back(queue_.pop_front());
  }
  job_list settled;
  while (!left.empty()) {
    auto each = left.pop_front();
    settle(*each, {error_kind::cancelled, "the instance was closed before the task ended"});
    settled.push_back(std::move(each));
  }
  publish(std::move(settled), false);
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/instance_core.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "base/clock.hpp"
#include "base/ticks.hpp"
#include "task/described_exception.hpp"
#include "task/fiber_waits.hpp"
#include "task/traced_job.hpp"
#include "trace/progress.hpp"
#include "trace/run_totals.hpp"
#include "trace/trace_file.hpp"

namespace cppless::detail {
namespace {

class heap_memory final : public payload_memory {
 public:
  std::byte* allocate(std::size_t& capacity) override {
    return static_cast<std::byte*>(::operator new(capacity));
  }
  void release(std::byte* block, std::size_t) noexcept override { ::operator delete(block); }
};

bool strict() {
  static const bool value = [] {
    const char* text = std::getenv("CPPLESS_STRICT");
    return text != nullptr && std::string(text) == "1";
  }();
  return value;
}

// What the decoding of a result threw, as an error of its task.
failure undecodable(const job& of) noexcept {
  const described_exception thrown = describe_current_exception();
  return {error_kind::rejected, std::string("the result of task ") + of.what.name() +
                                    " could not be decoded: " + thrown.type + ": " + thrown.what};
}

void fail(job& failed, const failure& reason) noexcept {
  if (failed.trace != nullptr) [[unlikely]] {
    failed.trace->has_failed = true;
    failed.trace->kind = reason.kind;
    failed.trace->message = reason.message;
  }
  try {
    error::raise(reason.kind, reason.message, failed.statistics.id, reason.remote_type);
  } catch (...) {
    failed.fail(std::current_exception());
  }
}

void succeed(job& with, source& result) noexcept {
  try {
    with.succeed(result);
  } catch (...) {
    fail(with, undecodable(with));
  }
}

// From its dispatch until now, when it becomes visible. Never less than its parts, which the clocks
// of other processes have measured.
std::chrono::nanoseconds total_of(const job& finished, std::uint64_t now) noexcept {
  const std::chrono::nanoseconds total(tick_clock::get().to_ns(now - finished.submitted));
  return std::max(total, finished.statistics.queue + finished.statistics.run);
}

void add(run_totals::batch& to, const job& finished) noexcept {
  const execution_statistics& statistics = finished.statistics;
  to.finished += 1;
  to.failed += finished.thrown() != nullptr ? 1 : 0;
  to.retries += statistics.attempts > 1 ? statistics.attempts - 1 : 0;
  to.task_ns += static_cast<std::uint64_t>((statistics.run - statistics.waited).count());
}

}  // namespace

task_limits limits_in_force(task_limits limits) {
  if (strict()) {
    if (limits.memory_bytes == 0) limits.memory_bytes = std::uint64_t{1024} << 20;
    if (limits.timeout_ns == 0) limits.timeout_ns = 10'000'000'000;
  }
  return limits;
}

instance_core::instance_core() {
  trace_file::start();
  if (trace_file* const file = trace_file::get()) trace_number_ = file->new_instance();
}
instance_core::~instance_core() = default;

payload_memory& instance_core::memory() noexcept {
  static heap_memory memory;
  return memory;
}

std::optional<shared_place> instance_core::place_shared(
    const std::shared_ptr<const shared_bytes>&) {
  return std::nullopt;
}

std::uint32_t instance_core::show_variable(const std::shared_ptr<variable_home>&) {
  return variable_view::no_cell;
}

detached_key instance_core::detach(const entry& what, const char*, std::span<const std::byte>) {
  throw rejected(std::string("task ") + what.name() + " cannot be detached: this dispatcher runs tasks "
                 "in this process, which they cannot outlive; use local_dispatcher");
}

task_id instance_core::submit(std::unique_ptr<job> submitted) {
  job& sent = *submitted;
  sent.submitted = ticks();
  sent.limits = limits_in_force(sent.what.limits);
  if (sent.limits.deadline_ns != 0) sent.deadline_ns = now_ns() + sent.limits.deadline_ns;
  std::unique_lock lock(mutex_);
  if (closed_) throw cancelled("the instance is closed: it takes no more tasks");
  const task_id id = sent.statistics.id = ++last_id_;
  if (sent.is_awaited()) ++awaited_;
  outstanding_.store(outstanding() + 1, std::memory_order_relaxed);
  send(std::move(submitted), lock);
  return id;
}

template <class Ready>
bool instance_core::wait_until(std::unique_lock<std::mutex>& lock, time_point until, Ready ready) {
  while (!ready()) {
    if (until != time_point::max() && std::chrono::steady_clock::now() >= until) return false;
    const std::thread::id self = std::this_thread::get_id();
    if (driving_ && driver_ != self) {
      ++followers_;
      followers_wake_.wait_until(lock, until);
      --followers_;
      continue;
    }
    // This thread may drive already: what it waits in is a continuation, or a task run in place.
    const bool is_outermost = !driving_;
    driving_ = true;
    driver_ = self;
    run_totals::get().add_tasks(last_id_ - std::exchange(counted_, last_id_));
    lock.unlock();
    if (progress_is_shown()) {
      drive(std::min(until, next_progress()));
      draw_progress(run_totals::get().finished(), run_totals::get().tasks());
    } else {
      drive(until);
    }
    lock.lock();
    driving_ = !is_outermost;
    // Another waiter takes the lead if this one's wait is over.
    if (followers_ != 0) followers_wake_.notify_all();
  }
  return true;
}

completion instance_core::wait_one() {
  std::unique_lock lock(mutex_);
  if (awaited_ == 0) {
    throw rejected("wait_one: every dispatched task has been returned already, or another thread "
                   "waits for it (" + std::to_string(last_id_) + " submitted, 0 left to wait for)");
  }
  --awaited_;  // at once: of two threads that wait for one task, one would wait for ever
  const auto is_over = [this] { return !ready_.empty() || closed_; };
  while (!is_over()) {
    fiber_waits* const parks = parks_caller();
    if (parks == nullptr) {
      wait_until(lock, time_point::max(), is_over);
    } else {
      lock.unlock();
      wait_parked(*parks, nullptr, time_point::max());
      lock.lock();
    }
  }
  if (ready_.empty()) throw cancelled("wait_one: the instance was closed");
  const std::unique_ptr<job> finished = ready_.pop_front();
  lock.unlock();
  if (const std::exception_ptr error = finished->thrown()) std::rethrow_exception(error);
  return {finished->statistics.id, finished->statistics};
}

bool instance_core::wait_for(const std::atomic<bool>& flag, time_point until) {
  if (flag.load(std::memory_order_acquire)) return true;
  if (fiber_waits* const parks = parks_caller()) {
    wait_parked(*parks, &flag, until);
    return flag.load(std::memory_order_acquire);
  }
  std::unique_lock lock(mutex_);
  return wait_until(lock, until, [&] { return flag.load(std::memory_order_acquire) || closed_; }) &&
         flag.load(std::memory_order_acquire);
}

/// A thread's turn at driving, as long as fibers wait.
void instance_core::drive_for_fibers() {
  std::unique_lock lock(mutex_);
  wait_until(lock, time_point::max(), [this] { return driven_fibers_ == 0 || closed_; });
  has_fiber_driver_ = false;
  followers_wake_.notify_all();
}

void instance_core::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  clear_progress();
  shut_down();
  std::unique_lock lock(mutex_);
  followers_wake_.notify_all();
  wake_parked(0);
  const bool is_in_drive = driving_ && driver_ == std::this_thread::get_id();
  if (!is_in_drive) followers_wake_.wait(lock, [this] { return !has_fiber_driver_; });
}

void instance_core::settle(job& settled, source& result) noexcept {
  if (settled.trace == nullptr) [[likely]] {
    succeed(settled, result);
  } else {
    task_trace& trace = *settled.trace;
    if (trace.sent_bytes == 0) trace.sent_bytes = settled.payload.size();
    if (trace.received_bytes == 0) trace.received_bytes = result.remaining();
    trace.received = ticks();
    succeed(settled, result);
    trace.settled = ticks();
  }
  settled.payload.release();  // wait_one may keep the job for longer than the memory lives
}

void instance_core::settle(job& settled, const failure& reason) noexcept {
  fail(settled, reason);
  if (settled.trace != nullptr) [[unlikely]] {
    task_trace& trace = *settled.trace;
    if (trace.sent_bytes == 0) trace.sent_bytes = settled.payload.size();
    trace.received = trace.settled = ticks();
  }
  settled.payload.release();
}

void instance_core::publish(job_list finished, bool by_driver) {
  job_list published;
  {
    const std::lock_guard lock(mutex_);
    published = publish_held(std::move(finished), by_driver);
  }
  notify(std::move(published));
}

job_list instance_core::publish_held(job_list finished, bool by_driver) {
  job_list to_notify;
  run_totals::batch totals;
  totals.tasks = last_id_ - std::exchange(counted_, last_id_);
  const std::uint64_t now = ticks();
  tick_clock::get().refine(now);
  while (!finished.empty()) {
    std::unique_ptr<job> done = finished.pop_front();
    done->statistics.total = total_of(*done, now);
    add(totals, *done);
    if (done->trace != nullptr) [[unlikely]] write_trace(*done, trace_number_);
    done->publish();
    (done->is_awaited() ? ready_ : to_notify).push_back(std::move(done));
  }
  outstanding_.store(outstanding() - totals.finished, std::memory_order_relaxed);
  run_totals::get().add(totals);
  if (followers_ != 0) followers_wake_.notify_all();
  if (driving_ && !by_driver) interrupt();
  if (parked_ != nullptr) [[unlikely]] wake_parked(totals.finished);
  return to_notify;
}

void instance_core::notify(job_list published) noexcept {
  while (!published.empty()) published.pop_front()->notify();
}

}  // namespace cppless::detail

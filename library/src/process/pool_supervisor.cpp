// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/system_call.hpp"
#include "base/ticks.hpp"
#include "process/pool.hpp"
#include "task/described_exception.hpp"
#include "task/traced_job.hpp"

namespace cppless::detail {
namespace {

enum class watched : std::uint32_t { bell, worker_end, worker_output };

std::uint64_t tag(watched what, std::uint32_t index) {
  return (static_cast<std::uint64_t>(what) << 32) | index;
}

// Workers that die before they reach their loop would die again.
constexpr unsigned most_failed_starts = 3;

// How long workers without a task may take to end by themselves.
constexpr int farewell_ms = 2000;

// While threads of the program drain results by themselves, the supervisor only looks now and then.
constexpr int look_again_ms = 1;

}  // namespace

void pool::kick() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

void pool::watch(int descriptor, std::uint64_t what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = what;
  check_system_call(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

void pool::supervise() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  watch(bell_.get(), tag(watched::bell, 0));
  int timeout_ms = -1;
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms);
    bool rung = false;
    for (int at = 0; at < count; ++at) {
      const auto index = static_cast<std::uint32_t>(events[at].data.u64);
      switch (static_cast<watched>(events[at].data.u64 >> 32)) {
        case watched::bell: {
          std::uint64_t rings = 0;
          rung = ::read(bell_.get(), &rings, sizeof rings) > 0;
          break;
        }
        case watched::worker_output: read_output(index, false); break;
        case watched::worker_end: bury(index); break;
      }
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_closing_) break;
    }
    start_workers();
    timeout_ms = look_after_results(rung);
    if (const std::uint64_t next_ns = expire_deadlines(); next_ns != 0) {
      const int next_ms = static_cast<int>(std::min<std::uint64_t>(next_ns / 1'000'000 + 1, 60'000));
      timeout_ms = timeout_ms < 0 ? next_ms : std::min(timeout_ms, next_ms);
    }
  }
  end_workers();
}

// Drains results nobody waits for. Returns after how many ms to look again; -1: when rung.
int pool::look_after_results(bool rung) {
  const std::uint64_t drives = drives_.load(std::memory_order_relaxed);
  const bool was_driven = std::exchange(drives_seen_, drives) != drives;
  if (is_driven_.load(std::memory_order_seq_cst)) {
    if (rung) interrupt();  // the ring was meant for the thread that drives now
    if (was_driven) {
      supervisor_is_armed_.store(false, std::memory_order_seq_cst);
      return look_again_ms;
    }
    // It sleeps for long: when it leaves, it has us called.
    supervisor_is_armed_.store(true, std::memory_order_seq_cst);
    heavy_fence();
    return is_driven_.load(std::memory_order_seq_cst) ? -1 : 0;
  }
  if (was_driven || drain(false)) {
    // Busy times: calls for each result would cost more than looking every millisecond.
    supervisor_is_armed_.store(false, std::memory_order_seq_cst);
    return look_again_ms;
  }
  supervisor_is_armed_.store(true, std::memory_order_seq_cst);
  if (outstanding() == 0) return -1;
  control_->bell.store(static_cast<std::uint32_t>(bell_target::supervisor));
  heavy_fence();
  return has_news() || is_driven_.load(std::memory_order_seq_cst) ? 0 : -1;
}

void pool::start_workers() {
  for (;;) {
    std::uint32_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      const std::uint64_t wanted = std::min<std::uint64_t>(
          {target_ + running_ - active_workers(), most_processes(), outstanding()});
      if (hopeless_ || is_closing_ || running_ >= wanted) return;
      while (workers_[index].process.is_running()) ++index;
    }
    if (!start_worker(index)) return;
  }
}

bool pool::start_worker(std::uint32_t index) {
  worker_record& record = control_->workers[index];
  // Parked until it is known here: what it sends before that nobody would look at.
  record.command.store(static_cast<std::uint32_t>(worker_command::park));
  record.is_alive.store(0);
  control_->asleep[index / 64].fetch_and(~(std::uint64_t{1} << (index % 64)));
  record.output_is_read.store(0);
  record.line_is_open.store(0);
  {
    const std::lock_guard handling(messages_mutex_);
    for (auto* end : {&record.outbox.head, &record.outbox.tail, &record.inbox.head, &record.inbox.tail}) {
      end->store(0);
    }
    workers_[index].outbox_read = workers_[index].inbox_written = 0;
  }
  record.current_start.store(ticks());
  record.first_record = records_read_[index].load(std::memory_order_relaxed);
  try {
    worker_process started = worker_process::start(
        index,
        {control_memory_.descriptor(), requests_read_only_.get(), bell_.get(), signal_mask_});
    watch(started.pid_descriptor(), tag(watched::worker_end, index));
    watch(started.output_descriptor(), tag(watched::worker_output, index));
    name_trace_process(static_cast<std::uint64_t>(started.pid()),
                       "worker " + std::to_string(index + 1));
    const std::lock_guard lock(mutex_);
    workers_[index].process = std::move(started);
    ++workers_[index].generation;
    ++running_;
    workers_used_ = std::max(workers_used_.load(), index + 1);
    set_command(index, worker_command::run);
    return true;
  } catch (const error& reason) {
    give_up({reason.kind(), reason.what()});
    return false;
  }
}

void pool::read_output(std::uint32_t index, bool ends) {
  worker_record& record = control_->workers[index];
  worker_process& process = workers_[index].process;
  record.output_is_read.store(1, std::memory_order_seq_cst);
  const entry* const what = find_entry(record.current_identity.load(std::memory_order_relaxed));
  const bool line_is_open = process.show_output(what == nullptr ? "worker" : what->name(), ends);
  record.line_is_open.store(line_is_open ? 1 : 0, std::memory_order_relaxed);
  record.output_is_read.store(0, std::memory_order_seq_cst);
  record.output_word.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(record.output_word);
  if (ends) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, process.output_descriptor(), nullptr);
}

void pool::bury(std::uint32_t index) {
  if (!workers_[index].process.is_running()) return;
  read_output(index, true);
  const auto& records = control_->finished[index];
  if (records.has(records_read_[index].load(std::memory_order_relaxed))) drain(false);
  const bool reached_loop = control_->workers[index].is_alive.load() != 0;
  std::string how;
  std::uint64_t parent_key = 0;
  unsigned failed_starts = 0;
  const pid_t pid = workers_[index].process.pid();
  {
    const std::lock_guard lock(mutex_);
    worker& dead = workers_[index];
    parent_key = key_of(index);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, dead.process.pid_descriptor(), nullptr);
    how = dead.process.reap();
    if (!dead.fault.empty()) how = std::exchange(dead.fault, {});
    --running_;
    dead.is_waiting = dead.is_parked = false;
    failed_starts = dead.failed_starts = reached_loop ? 0 : dead.failed_starts + 1;
    for (const inbox_block& each : dead.inbox_blocks) {
      request_arena_.release(each.offset, each.capacity);
    }
    dead.inbox_blocks.clear();
    dead.unsent.clear();
    // It may have been woken for a task that it did not come to take.
    wake_workers(1);
  }
  settle_losses(index, pid, how);
  stop_children(parent_key);
  bool is_hopeless = false;
  {
    const std::lock_guard lock(mutex_);
    workers_[index].process = worker_process();
    balance();
    is_hopeless = failed_starts >= most_failed_starts && !any_worker_has_started();
  }
  if (!is_hopeless) return;
  give_up({error_kind::rejected, "workers of this program end before they can take tasks: " + how +
                                     " (" + std::to_string(failed_starts) + " times in a row)"});
}

// Some worker runs and has reached its loop.
bool pool::any_worker_has_started() const noexcept {
  for (std::uint32_t index = 0; index < workers_used_; ++index) {
    if (workers_[index].process.is_running() && control_->workers[index].is_alive.load() != 0) {
      return true;
    }
  }
  return false;
}

// Whether the dead worker had the task; or a worker has written to the slot what would keep the task
// from ever ending.
bool pool::is_lost(const slot_state& state, const flight& entry, std::uint32_t dead) const noexcept {
  if (state.generation != entry.generation) return true;
  if (state.phase == slot_phase::ready) return false;
  return state.phase != slot_phase::taken || state.worker == dead || state.worker >= max_workers ||
         !workers_[state.worker].process.is_running();
}

// What a dead worker was running is tried again or reported; finished tasks are not lost.
void pool::settle_losses(std::uint32_t index, pid_t dead, const std::string& how) {
  std::vector<std::pair<std::unique_ptr<job>, failure>> losses;
  tick_clock& clock = tick_clock::get();
  const std::uint64_t now = clock.now();
  clock.refine(now);
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t at = 0; at < slot_count; ++at) {
      flight& entry = flights_[at];
      const slot_state state = slot_state::unpack(control_->slots[at].state.load());
      if (entry.what == nullptr || !is_lost(state, entry, index)) continue;
      std::unique_ptr<job> what = std::move(entry.what);
      // Of a task that ran another one in place, the worker's record has that one's start.
      const std::uint64_t started = what->limits.timeout_ns != 0
                                        ? control_->slots[at].request.started
                                        : control_->workers[index].current_start.load();
      const std::uint64_t run_ns = clock.to_ns(now > started ? now - started : 0);
      const bool too_long = what->limits.timeout_ns != 0 && run_ns >= what->limits.timeout_ns;
      failure reason{error_kind::lost, how + " while it ran task " + what->what.name() +
                                           " (attempt " + std::to_string(what->statistics.attempts) +
                                           " of " + std::to_string(what->limits.attempts) + ")"};
      if (entry.verdict != nullptr) {
        reason = *entry.verdict;
      } else if (too_long) {
        reason = {error_kind::timeout, timeout_text(what->what.name(), what->limits.timeout_ns)};
      }
      what->statistics.run = std::chrono::nanoseconds(run_ns);
      free_slot(at);
      const bool is_last =
          reason.kind != error_kind::lost || what->statistics.attempts >= what->limits.attempts;
      if (what->trace != nullptr) [[unlikely]] {
        task_trace& trace = *what->trace;
        trace.worker_process = trace.worker_thread = static_cast<std::uint64_t>(dead);
        if (is_last) {
          trace.started = started;
          trace.ended = now;
        } else {
          write_lost_try(*what, trace_number(), what->statistics.attempts, started, "lost",
                         reason.message);
        }
      }
      if (!is_last) {
        if (what->parent != 0) {
          nested_.push_back(std::move(what));
        } else {
          queue_.push_front(std::move(what));
        }
      } else {
        losses.emplace_back(std::move(what), std::move(reason));
      }
    }
    refill();
  }
  for (auto& [what, reason] : losses) {
    job_list one;
    one.push_back(std::move(what));
    fail_all(std::move(one), reason);
  }
  drain(false);
}

void pool::give_up(const failure& reason) {
  job_list left;
  {
    const std::lock_guard lock(mutex_);
    hopeless_ = reason;
    while (!queue_.empty()) left.push_back(queue_.pop_front());
    for (auto& each : nested_) left.push_back(std::move(each));
    nested_.clear();
    for (std::uint32_t index = 0; index < slot_count; ++index) {
      if (auto waiting = take_unstarted(index)) left.push_back(std::move(waiting));
    }
  }
  fail_all(std::move(left), reason);
}

void pool::end_workers() noexcept {
  std::vector<std::uint32_t> running;
  {
    const std::lock_guard lock(mutex_);
    std::vector<bool> is_busy(max_workers);
    for (std::uint32_t at = 0; at < slot_count; ++at) {
      const slot_state state = slot_state::unpack(control_->slots[at].state.load());
      if (flights_[at].what == nullptr || state.phase != slot_phase::taken) continue;
      if (state.worker < max_workers && !is_reported(at)) is_busy[state.worker] = true;
    }
    for (std::uint32_t index = 0; index < max_workers; ++index) {
      if (!workers_[index].process.is_running()) continue;
      running.push_back(index);
      if (is_busy[index]) workers_[index].process.kill();
      set_command(index, worker_command::exit);
    }
    wake_sleepers(*control_, max_workers);
  }
  const std::uint64_t give_up_at = now_ns() + std::uint64_t{farewell_ms} * 1'000'000;
  bool is_patient = true;
  while (!running.empty()) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, farewell_ms / 20);
    for (int at = 0; at < count; ++at) {
      const auto index = static_cast<std::uint32_t>(events[at].data.u64);
      const auto what = static_cast<watched>(events[at].data.u64 >> 32);
      std::uint64_t rings = 0;
      if (what == watched::bell) [[maybe_unused]] const auto n = ::read(bell_.get(), &rings, 8);
      if (what == watched::worker_output) read_output(index, false);
      if (what != watched::worker_end) continue;
      read_output(index, true);
      const std::lock_guard lock(mutex_);  // whoever drains results may look at it
      workers_[index].process.reap();
      workers_[index].process = worker_process();
      std::erase(running, index);
    }
    if (is_patient && now_ns() > give_up_at) {
      for (const std::uint32_t index : running) workers_[index].process.kill();
      is_patient = false;
    }
  }
}

}  // namespace cppless::detail

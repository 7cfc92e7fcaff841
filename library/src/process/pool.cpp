// SPDX-License-Identifier: Apache-2.0
#include "process/pool.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/system_call.hpp"
#include "base/ticks.hpp"
#include "task/described_exception.hpp"
#include "task/traced_job.hpp"
#include "trace/run_totals.hpp"

namespace cppless::detail {
namespace {

constexpr std::size_t request_memory_size = std::size_t{1} << 40;
constexpr std::size_t smallest_request_memory = std::size_t{4} << 30;
constexpr int spins_before_sleep = 2000;

// A wait shorter than all those spins shall not take as long as they do.
constexpr auto short_wait = std::chrono::microseconds(100);
constexpr int spins_of_short_wait = 200;

// Slots that tasks from outside leave to those that tasks dispatch, which others wait for.
constexpr std::size_t slots_for_nested = 512;

std::uint64_t since(std::uint64_t begin, std::uint64_t end) noexcept {
  return end > begin ? end - begin : 0;
}

// The failure that a worker described in its slot. Its bytes may be anything.
failure described_failure(run_outcome outcome, const job& failed, source& description) {
  described_exception thrown;
  thrown.type = decode<std::string>(description);
  thrown.what = decode<std::string>(description);
  const char* const name = failed.what.name();
  return {error_kind::task_failed,
          outcome == run_outcome::out_of_memory
              ? out_of_memory_text(name, failed.limits.memory_bytes)
              : failed_text(name, thrown),
          thrown.type};
}

}  // namespace

std::byte* pool::request_memory::allocate(std::size_t& capacity) {
  const std::lock_guard lock(owner_.mutex_);
  return owner_.requests_.data() + owner_.request_arena_.allocate(capacity);
}

void pool::request_memory::release(std::byte* block, std::size_t capacity) noexcept {
  const std::lock_guard lock(owner_.mutex_);
  owner_.request_arena_.release(static_cast<std::uint64_t>(block - owner_.requests_.data()),
                                capacity);
}

pool::pool(unsigned workers)
    : target_(workers),
      control_memory_(shared_memory::create("cppless-control", sizeof(shared_control))),
      requests_(shared_memory::create("cppless-requests", request_memory_size,
                                      smallest_request_memory)),
      control_(reinterpret_cast<shared_control*>(control_memory_.data())),
      requests_read_only_(requests_.read_only_descriptor()),
      bell_(moved_high(check_system_call(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"))),
      epoll_(check_system_call(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      request_blocks_(*this),
      request_arena_(requests_),
      flights_(slot_count),
      workers_(max_workers),
      records_read_(max_workers) {
  // The memory is all zeroes, which is what every other member starts as.
  control_->fences_are_asymmetric = register_for_heavy_fences() ? 1 : 0;
  control_->host_pid = static_cast<std::uint64_t>(::getpid());
  control_->is_traced = trace_number() != 0 ? 1 : 0;
  control_->concurrency = target_;
  free_slots_.reserve(slot_count);
  for (std::uint32_t slot = slot_count; slot-- > 0;) free_slots_.push_back(slot);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask_);
  run_totals::get().set_workers(target_);
  write_workers(trace_number(), target_);
  supervisor_ = std::thread([this] { supervise(); });
}

pool::~pool() { close(); }

void pool::write_request(task_slot& slot, flight& entry, const job& placed) {
  const std::size_t size = placed.payload.size();
  const bool is_limited = placed.limits.timeout_ns != 0 || placed.limits.memory_bytes != 0;
  slot.identity = placed.what.identity();
  slot.is_inline = size <= inline_request_bytes && !is_limited;
  if (slot.is_inline != 0) {
    slot.inline_size = static_cast<std::uint32_t>(size);
    std::memcpy(slot.inline_request, placed.payload.data(), size);
    return;
  }
  std::uint64_t offset = 0;
  if (placed.payload.is_local()) {
    entry.block_capacity = size;
    offset = request_arena_.allocate(entry.block_capacity);
    entry.block = requests_.data() + offset;
    std::memcpy(entry.block, placed.payload.data(), size);
  } else {
    offset = static_cast<std::uint64_t>(placed.payload.data() - requests_.data());
  }
  slot.request = {offset, size, placed.limits.timeout_ns, placed.limits.memory_bytes, 0};
}

void pool::write_traced_request(task_slot& slot, flight& entry, job& placed) {
  placed.trace->dispatcher = "local";
  placed.trace->send_begins = ticks();
  write_request(slot, entry, placed);
  placed.trace->send_ends = ticks();
}

// False if there is no memory for the request now: it stays queued.
bool pool::place(std::unique_ptr<job>& placed) {
  const std::uint32_t index = free_slots_.back();
  flight& entry = flights_[index];
  task_slot& slot = control_->slots[index];
  try {
    if (placed->trace == nullptr) [[likely]] {
      write_request(slot, entry, *placed);
    } else {
      write_traced_request(slot, entry, *placed);
    }
  } catch (const rejected&) {
    return false;
  }
  free_slots_.pop_back();
  ++entry.generation;
  entry.verdict.reset();
  entry.is_urgent = placed->parent != 0;
  ++placed->statistics.attempts;
  entry.what = std::move(placed);
  slot.state.store(slot_state{slot_phase::ready, 0, entry.generation}.packed(),
                   std::memory_order_release);
  enqueue(index);
  return true;
}

void pool::enqueue(std::uint32_t slot) noexcept {
  const flight& entry = flights_[slot];
  if (entry.is_urgent) {
    control_->urgent.write(urgent_end_++, slot, entry.generation);
  } else {
    control_->regular.write(regular_end_++, slot, entry.generation);
  }
}

// An entry whose task no worker came by to claim stays where it is: so many could pass through the
// queue that it comes round to an entry which still counts. Long before, all that count are written
// anew.
void pool::add_stale_entry() noexcept {
  if (++stale_entries_ < queue_cells / 8) return;
  stale_entries_ = 0;
  for (std::uint32_t slot = 0; slot < slot_count; ++slot) {
    const slot_state state = slot_state::unpack(control_->slots[slot].state.load());
    if (flights_[slot].what != nullptr && state.phase == slot_phase::ready) enqueue(slot);
  }
}

void pool::wake_workers(unsigned count) noexcept {
  wake_sleepers(*control_, count, workers_used_.load(std::memory_order_relaxed));
}

void pool::refill() {
  unsigned placed = 0;
  // Nested tasks go newest first, a few at a time: that keeps the number of waiting tasks small.
  const std::uint64_t most_urgent = 2 * std::uint64_t{running_} + 2;
  const auto waiting = [&] {
    return urgent_end_ - std::min(urgent_end_, control_->urgent.passed.load());
  };
  while (!nested_.empty() && !free_slots_.empty() && waiting() < most_urgent) {
    if (!place(nested_.back())) break;
    nested_.pop_back();
    ++placed;
  }
  while (!queue_.empty() && free_slots_.size() > slots_for_nested) {
    std::unique_ptr<job> next = queue_.pop_front();
    if (!place(next)) {
      queue_.push_front(std::move(next));
      break;
    }
    ++placed;
  }
  if (placed != 0) wake_workers(placed);
}

void pool::send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) {
  if (hopeless_) {
    const failure reason = *hopeless_;
    lock.unlock();
    job_list refused;
    refused.push_back(std::move(sent));
    fail_all(std::move(refused), reason);
    return;
  }
  if (sent->deadline_ns != 0) {
    deadlines_.push({sent->deadline_ns, sent->statistics.id, sent->limits.deadline_ns});
    if (deadlines_.top().id == sent->statistics.id) kick();
  }
  if (sent->parent != 0) {
    nested_.push_back(std::move(sent));
    refill();
  } else if (queue_.empty() && free_slots_.size() > slots_for_nested && place(sent)) {
    wake_workers(1);
  } else {
    queue_.push_back(std::move(sent));
  }
  if (running_ < target_ && running_ < outstanding()) kick();
  lock.unlock();
  if (!is_driven_.load(std::memory_order_seq_cst)) arm_bell();
}

// Has workers call the supervisor, if it has asked for that and nobody else will look.
void pool::arm_bell() noexcept {
  if (!supervisor_is_armed_.load(std::memory_order_seq_cst)) return;
  constexpr auto target = static_cast<std::uint32_t>(bell_target::supervisor);
  if (control_->bell.load(std::memory_order_relaxed) == target) return;
  control_->bell.store(target, std::memory_order_relaxed);
  heavy_fence();
  if (has_news()) kick();
}

bool pool::has_finished() const noexcept {
  const std::uint32_t used = workers_used_.load(std::memory_order_relaxed);
  for (std::uint32_t index = 0; index < used; ++index) {
    if (control_->finished[index].has(records_read_[index].load(std::memory_order_relaxed))) {
      return true;
    }
  }
  return false;
}

bool pool::has_news() const noexcept {
  return has_finished() || control_->messages.load(std::memory_order_relaxed) !=
                               messages_seen_.load(std::memory_order_relaxed);
}

void pool::take_finished(std::vector<arrival>& to) {
  const std::uint32_t used = workers_used_.load(std::memory_order_relaxed);
  for (std::uint32_t index = 0; index < used; ++index) {
    finished_ring& ring = control_->finished[index];
    std::uint64_t position = records_read_[index].load(std::memory_order_relaxed);
    // A worker can write anything, also records without end.
    const std::uint64_t most = position + slot_count;
    for (; position != most && ring.has(position); ++position) take(index, ring.at(position), to);
    records_read_[index].store(position, std::memory_order_relaxed);
  }
}

// Believes a record only if it is of a task in flight; and what it says only after a copy was made.
void pool::take(std::uint32_t worker_index, const finished_record& record,
                std::vector<arrival>& to) {
  const std::uint32_t slot = record.slot;
  if (slot >= slot_count) return;
  flight& entry = flights_[slot];
  if (entry.what == nullptr || entry.generation != record.generation) return;
  arrival& made = to.emplace_back();
  made.what = std::move(entry.what);
  made.slot = slot;
  made.outcome = record.outcome;
  made.is_cold = record.is_cold != 0;
  made.started = record.started;
  made.ended = record.ended;
  made.peak_memory_kib = record.peak_memory_kib;
  made.waited_us = record.waited_us;
  made.result_size = record.result_size;
  if (made.result_size <= first_line_result_bytes) {
    std::memcpy(made.result, record.inline_result, first_line_result_bytes);
  } else if (made.result_size <= inline_result_bytes) {
    std::memcpy(made.result, record.inline_result, made.result_size);
  } else {
    made.result_offset = record.result_offset;
    made.memory = workers_[worker_index].process.memory();
  }
  if (made.what->trace != nullptr) [[unlikely]] trace_run(worker_index, record, made);
}

void pool::trace_run(std::uint32_t worker_index, const finished_record& record, const arrival& of) {
  task_trace& trace = *of.what->trace;
  const auto& marks =
      control_->marks[worker_index].marks[&record - control_->finished[worker_index].records];
  trace.started = of.started;
  trace.decoded = marks.decoded;
  trace.called = marks.called;
  trace.ended = of.ended;
  trace.worker_process = trace.worker_thread =
      static_cast<std::uint64_t>(workers_[worker_index].process.pid());
}

// Whether the task in the slot, which is taken, has ended.
bool pool::is_reported(std::uint32_t slot) const noexcept {
  const slot_state state = slot_state::unpack(control_->slots[slot].state.load());
  if (state.worker >= max_workers) return false;
  finished_ring& ring = control_->finished[state.worker];
  const std::uint64_t read = records_read_[state.worker].load(std::memory_order_relaxed);
  for (std::uint64_t at = read; at != read + slot_count && ring.has(at); ++at) {
    const finished_record& record = ring.at(at);
    if (record.slot == slot && record.generation == flights_[slot].generation) return true;
  }
  return false;
}

void pool::settle_arrival(arrival& finished) {
  job& settled = *finished.what;
  const tick_clock& clock = tick_clock::get();
  execution_statistics& statistics = settled.statistics;
  statistics.cold = finished.is_cold;
  const std::uint64_t queued = since(settled.submitted, finished.started);
  const std::uint64_t ran = since(finished.started, finished.ended);
  statistics.queue = std::chrono::nanoseconds(clock.to_ns(queued));
  statistics.run = std::chrono::nanoseconds(clock.to_ns(ran));
  statistics.waited = std::min(statistics.run, std::chrono::nanoseconds(
                                                   std::uint64_t{finished.waited_us} * 1000));
  statistics.peak_memory = std::uint64_t{finished.peak_memory_kib} * 1024;
  std::uint64_t size = finished.result_size;
  const std::byte* data = finished.result;
  if (size > inline_result_bytes) {
    const std::uint64_t offset = finished.result_offset;
    const shared_memory* const memory = finished.memory.get();
    if (memory == nullptr || size > memory->size() || offset > memory->size() - size) {
      settle(
          settled, failure{error_kind::lost, std::string("the worker of task ") +
                                                 settled.what.name() + " reported a result of " +
                                                 std::to_string(size) + " bytes at " +
                                                 std::to_string(offset) + ", outside its memory"});
      return;
    }
    data = memory->data() + offset;
  }
  try {
    if (finished.outcome == run_outcome::result_and_updates) size -= apply_updates({data, size});
    source bytes(data, size);
    if (finished.outcome == run_outcome::result ||
        finished.outcome == run_outcome::result_and_updates) {
      return settle(settled, bytes);
    }
    settle(settled, described_failure(finished.outcome, settled, bytes));
  } catch (const error& malformed) {
    settle(settled, failure{error_kind::lost, malformed.what()});
  }
}

bool pool::drain(bool by_driver) {
  bool has_drained = false;
  if (has_finished()) {
    std::unique_lock lock(mutex_);
    std::vector<arrival> batch = std::move(spare_arrivals_);
    take_finished(batch);
    lock.unlock();
    has_drained = !batch.empty();
    tick_clock::get().refine(ticks());
    job_list settled;
    for (arrival& each : batch) {
      settle_arrival(each);
      settled.push_back(std::move(each.what));
    }
    lock.lock();
    for (const arrival& each : batch) free_slot(each.slot);
    if (!queue_.empty() || !nested_.empty()) refill();
    job_list published = publish_held(std::move(settled), by_driver);
    batch.clear();
    spare_arrivals_ = std::move(batch);
    lock.unlock();
    notify(std::move(published));
  }
  const bool had_messages = handle_messages();
  return has_drained || had_messages;
}

void pool::free_slot(std::uint32_t index) {
  flight& entry = flights_[index];
  std::atomic<std::uint64_t>& state = control_->slots[index].state;
  if (entry.block != nullptr) {
    request_arena_.release(static_cast<std::uint64_t>(entry.block - requests_.data()),
                           entry.block_capacity);
    entry.block = nullptr;
  }
  state.store(slot_state{slot_phase::free, 0, entry.generation}.packed(),
              std::memory_order_release);
  free_slots_.push_back(index);
}

// With many tasks in flight more results are about to follow. Taken one by one they cost the host
// twice as much as together; and the worker too, whose records the host would look at while they
// are being written.
void pool::let_results_gather() const noexcept {
  constexpr std::uint64_t many = 16;
  constexpr std::uint64_t enough = 8;
  constexpr int turns = 16;
  if (outstanding() < many) return;
  const std::uint32_t used = workers_used_.load(std::memory_order_relaxed);
  for (int turn = 0; turn < turns; ++turn) {
    for (std::uint32_t index = 0; index < used; ++index) {
      const std::uint64_t read = records_read_[index].load(std::memory_order_relaxed);
      if (control_->finished[index].has(read + enough - 1)) return;
    }
    spin_pause();
  }
}

void pool::drive(time_point until) {
  constexpr auto driver = static_cast<std::uint32_t>(bell_target::driver);
  is_driven_.store(true, std::memory_order_relaxed);
  silence_bell();
  const auto is_interrupted = [&] { return is_interrupted_.load(std::memory_order_relaxed); };
  for (;;) {
    let_results_gather();
    if (drain(true)) break;
    if (is_interrupted() && is_interrupted_.exchange(false)) break;
    int spins = 0;
    const bool is_short =
        until != time_point::max() && until - std::chrono::steady_clock::now() < short_wait;
    const int most_spins = is_short ? spins_of_short_wait : spins_before_sleep;
    while (spins < most_spins && !has_news() && !is_interrupted()) {
      spin_turn(spins);
      ++spins;
    }
    if (spins < most_spins) continue;
    std::uint64_t timeout_ns = 0;
    if (until != time_point::max()) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left.count() <= 0) break;
      timeout_ns = static_cast<std::uint64_t>(left.count());
    }
    control_->bell.store(driver, std::memory_order_relaxed);
    heavy_fence();
    if (!has_news() && !is_interrupted()) futex_wait(control_->bell, driver, timeout_ns);
    silence_bell();
  }
  // Only one thread drives at a time.
  drives_.store(drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  is_driven_.store(false, std::memory_order_seq_cst);
  if (outstanding() != 0) arm_bell();
}

// Written only where it changes: workers look at it after each task.
void pool::silence_bell() noexcept {
  if (control_->bell.load(std::memory_order_relaxed) != 0) {
    control_->bell.store(0, std::memory_order_relaxed);
  }
}

void pool::interrupt() noexcept {
  is_interrupted_.store(true, std::memory_order_seq_cst);
  auto expected = static_cast<std::uint32_t>(bell_target::driver);
  control_->bell.compare_exchange_strong(expected, 0);
  // In any case: the supervisor may have asked for the bell after the driver fell asleep on it.
  futex_wake(control_->bell);
}

void pool::shut_down() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  kick();
  supervisor_.join();
  take_in_variables();
  job_list left;
  {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty()) left.push_back(queue_.pop_front());
    for (auto& each : nested_) left.push_back(std::move(each));
    nested_.clear();
    for (flight& each : flights_) {
      if (each.what != nullptr) left.push_back(std::move(each.what));
    }
  }
  fail_all(std::move(left), {error_kind::cancelled, "the instance was closed before the task ended"});
}

}  // namespace cppless::detail

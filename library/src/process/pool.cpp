// SPDX-License-Identifier: Apache-2.0
#include "process/pool.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/system_call.hpp"
#include "task/described_exception.hpp"
#include "trace/run_totals.hpp"

namespace cppless::detail {
namespace {

constexpr std::size_t request_memory_size = std::size_t{1} << 40;
constexpr std::size_t smallest_request_memory = std::size_t{4} << 30;
constexpr int spins_before_sleep = 2000;

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
      workers_(max_workers) {
  // The memory is all zeroes, which is what every other member starts as.
  control_->done_head.store(no_slot);
  control_->host_pid = static_cast<std::uint64_t>(::getpid());
  free_slots_.reserve(slot_count);
  for (std::uint32_t slot = slot_count; slot-- > 0;) free_slots_.push_back(slot);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask_);
  run_totals::get().set_workers(target_);
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
  slot.request = {offset, size, placed.limits.timeout_ns, placed.limits.memory_bytes};
}

// False if there is no memory for the request now: it stays queued.
bool pool::place(std::unique_ptr<job>& placed) {
  const std::uint32_t index = free_slots_.back();
  flight& entry = flights_[index];
  task_slot& slot = control_->slots[index];
  try {
    write_request(slot, entry, *placed);
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
  task_queue& queue = entry.is_urgent ? control_->urgent : control_->regular;
  entry.queue_position = queue.tail.load(std::memory_order_relaxed);
  queue.push(index);
  return true;
}

void pool::refill() {
  unsigned placed = 0;
  // Nested tasks go newest first, a few at a time: that keeps the number of waiting tasks small.
  const std::uint64_t most_urgent = 2 * std::uint64_t{running_} + 2;
  while (!nested_.empty() && !free_slots_.empty() && control_->urgent.length() < most_urgent) {
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
  if (placed != 0) wake_sleepers(*control_, placed);
}

void pool::send(std::unique_ptr<job> sent) {
  std::optional<failure> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) refusal = failure{error_kind::cancelled, "the instance was closed"};
    if (hopeless_) refusal = hopeless_;
    if (!refusal) {
      if (sent->deadline_ns != 0) {
        deadlines_.push({sent->deadline_ns, sent->statistics.id, sent->limits.deadline_ns});
        if (deadlines_.top().id == sent->statistics.id) kick();
      }
      if (sent->parent != 0) {
        nested_.push_back(std::move(sent));
      } else {
        queue_.push_back(std::move(sent));
      }
      refill();
      if (running_ < target_ && running_ < outstanding()) kick();
    }
  }
  if (refusal) {
    job_list refused;
    refused.push_back(std::move(sent));
    fail_all(std::move(refused), *refusal);
  } else if (!is_driven_.load(std::memory_order_seq_cst)) {
    arm_bell();
  }
}

// Has workers call the supervisor, if it has asked for that and nobody else will look.
void pool::arm_bell() noexcept {
  if (!supervisor_is_armed_.load(std::memory_order_seq_cst)) return;
  constexpr auto target = static_cast<std::uint32_t>(bell_target::supervisor);
  if (control_->bell.load(std::memory_order_relaxed) == target) return;
  control_->bell.store(target, std::memory_order_seq_cst);
  if (has_news()) kick();
}

bool pool::has_news() const noexcept {
  return control_->done_head.load(std::memory_order_seq_cst) != no_slot ||
         control_->messages.load(std::memory_order_seq_cst) !=
             messages_seen_.load(std::memory_order_relaxed);
}

std::vector<pool::finished_slot> pool::take_finished() {
  std::vector<finished_slot> finished;
  std::uint32_t at = control_->done_head.load(std::memory_order_relaxed);
  if (at == no_slot) return finished;
  at = control_->done_head.exchange(no_slot, std::memory_order_acq_rel);
  // The links are the workers': neither their values nor that they end can be relied on.
  for (std::uint32_t steps = 0; at < slot_count && steps < slot_count; ++steps) {
    const task_slot& slot = control_->slots[at];
    flight& entry = flights_[at];
    const slot_state state = slot_state::unpack(slot.state.load(std::memory_order_acquire));
    const std::uint32_t next = slot.next_done.load(std::memory_order_relaxed);
    if (entry.what != nullptr && state.phase == slot_phase::done &&
        state.generation == entry.generation) {
      finished.push_back({at, std::move(entry.what), nullptr});
      if (slot.result_size > inline_result_bytes && state.worker < max_workers) {
        finished.back().memory = workers_[state.worker].process.memory();
      }
    }
    at = next;
  }
  std::reverse(finished.begin(), finished.end());
  return finished;
}

namespace {

void settle_slot(const task_slot& slot, job& settled, const shared_memory* memory,
                 void (*succeed)(job&, source&), void (*fail)(job&, const failure&)) {
  execution_statistics& statistics = settled.statistics;
  statistics.cold = slot.is_cold != 0;
  statistics.queue = std::chrono::nanoseconds(since(settled.submitted_ns, slot.started_ns));
  statistics.run = std::chrono::nanoseconds(since(slot.started_ns, slot.ended_ns));
  statistics.peak_memory = slot.peak_memory;
  const std::uint64_t size = slot.result_size;
  const std::byte* data = slot.inline_result;
  if (size > inline_result_bytes) {
    const std::uint64_t offset = slot.result_offset;
    if (memory == nullptr || size > memory->size() || offset > memory->size() - size) {
      fail(settled, {error_kind::lost, std::string("the worker of task ") + settled.what.name() +
                                           " reported a result of " + std::to_string(size) +
                                           " bytes at " + std::to_string(offset) +
                                           ", outside its memory"});
      return;
    }
    data = memory->data() + offset;
  }
  const run_outcome outcome = slot.outcome;
  source bytes(data, size);
  if (outcome == run_outcome::result) {
    succeed(settled, bytes);
    return;
  }
  try {
    fail(settled, described_failure(outcome, settled, bytes));
  } catch (const error& malformed) {
    fail(settled, {error_kind::lost, malformed.what()});
  }
}

}  // namespace

bool pool::drain(bool by_driver) {
  std::vector<finished_slot> finished;
  if (control_->done_head.load(std::memory_order_acquire) != no_slot) {
    const std::lock_guard lock(mutex_);
    finished = take_finished();
  }
  if (!finished.empty()) {
    job_list settled;
    for (finished_slot& each : finished) {
      settle_slot(control_->slots[each.slot], *each.what, each.memory.get(),
                  [](job& done, source& result) { settle(done, result); },
                  [](job& done, const failure& reason) { settle(done, reason); });
      settled.push_back(std::move(each.what));
    }
    {
      const std::lock_guard lock(mutex_);
      for (const finished_slot& each : finished) free_slot(each.slot);
      refill();
    }
    publish(std::move(settled), by_driver);
  }
  const bool had_messages = handle_messages();
  return !finished.empty() || had_messages;
}

void pool::free_slot(std::uint32_t index) {
  flight& entry = flights_[index];
  control_->slots[index].state.store(slot_state{slot_phase::free, 0, entry.generation}.packed(),
                                     std::memory_order_release);
  if (entry.block != nullptr) {
    request_arena_.release(static_cast<std::uint64_t>(entry.block - requests_.data()),
                           entry.block_capacity);
    entry.block = nullptr;
  }
  free_slots_.push_back(index);
}

void pool::drive(time_point until) {
  constexpr auto driver = static_cast<std::uint32_t>(bell_target::driver);
  is_driven_.store(true, std::memory_order_seq_cst);
  control_->bell.store(0, std::memory_order_relaxed);
  for (;;) {
    if (drain(true) || is_interrupted_.exchange(false)) break;
    int spins = 0;
    while (spins < spins_before_sleep && !has_news() && !is_interrupted_.load()) {
      spin_turn(spins);
      ++spins;
    }
    if (spins < spins_before_sleep) continue;
    std::uint64_t timeout_ns = 0;
    if (until != time_point::max()) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left.count() <= 0) break;
      timeout_ns = static_cast<std::uint64_t>(left.count());
    }
    control_->bell.store(driver, std::memory_order_seq_cst);
    if (!has_news() && !is_interrupted_.load()) futex_wait(control_->bell, driver, timeout_ns);
    control_->bell.store(0, std::memory_order_relaxed);
  }
  drives_.fetch_add(1, std::memory_order_relaxed);
  is_driven_.store(false, std::memory_order_seq_cst);
  if (outstanding() != 0) arm_bell();
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

// SPDX-License-Identifier: Apache-2.0
#include "process/worker_loop.hpp"

#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include <cppless/detail/task/variable_state.hpp>
#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/ticks.hpp"
#include "process/task_limits_guard.hpp"
#include "process/worker_link.hpp"
#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

// About as long as waking a sleeper takes: shorter waits are cheaper spun, longer ones slept.
constexpr int spins_before_sleep = 2000;

// A task that took less cannot have written to a pipe, so its output need not be looked for.
constexpr std::uint64_t shortest_write_ns = 500;

// Runs that may have changed the peak; asking the kernel costs more than a short task takes.
constexpr std::uint64_t worth_measuring_ns = 20'000;

std::uint32_t clamped(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffff));
}

run_outcome append(const update_log& updates, sink& to) {
  if (updates.empty()) return run_outcome::result;
  updates.write(to);
  return run_outcome::result_and_updates;
}

void encode_exception(sink& to) {
  const described_exception thrown = describe_current_exception();
  to.truncate(0);
  encode(to, thrown.type);
  encode(to, thrown.what);
}

}  // namespace

/// A sink that starts on the stack and moves to the worker's memory.
class result_sink final : public sink {
 public:
  explicit result_sink(result_blocks& blocks) noexcept
      : sink(local_, sizeof local_), blocks_(&blocks) {}
  ~result_sink() { release(); }

  bool is_local() const noexcept { return begin_ == local_; }
  std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - begin_); }

  /// Nothing is to be released here any more.
  void disown() noexcept { begin_ = cur_ = local_; }

 private:
  void release() noexcept {
    if (!is_local()) blocks_->release(begin_, capacity());
  }

  void grow(std::size_t more) override {
    blocks_->reclaim();
    const std::size_t used = size();
    std::size_t wanted = std::max(used + more, 2 * capacity());
    std::byte* const block = blocks_->allocate(wanted);
    std::memcpy(block, begin_, used);
    release();
    begin_ = block;
    cur_ = block + used;
    end_ = block + wanted;
  }

  result_blocks* blocks_;
  std::byte local_[inline_result_bytes];
};

void result_blocks::lend(const std::byte* block, std::size_t capacity, const task_slot& slot,
                         std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  loans_.push_back({offset_of(block), capacity, &slot, state});
}

void result_blocks::reclaim() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(loans_, [this](const loan& each) {
    if (each.slot->state.load(std::memory_order_acquire) == each.state) return false;
    arena_.release(each.offset, each.capacity);
    return true;
  });
}

worker_loop* worker_loop::current_ = nullptr;

worker_loop::worker_loop(std::uint32_t index)
    : index_(index),
      control_memory_(
          shared_memory::attach(file_descriptor(control_descriptor), access::read_write)),
      requests_(shared_memory::attach(file_descriptor(request_descriptor), access::read_only)),
      memory_(
          shared_memory::attach(file_descriptor(worker_memory_descriptor), access::read_write)),
      control_(reinterpret_cast<shared_control*>(control_memory_.data())),
      record_(&control_->workers[index]),
      finished_(&control_->finished[index]),
      finished_count_(record_->first_record),
      urgent_(control_->urgent),
      regular_(control_->regular),
      blocks_(memory_) {
  if (index >= max_workers || control_memory_.size() < sizeof(shared_control)) {
    throw rejected("worker " + std::to_string(index) + " was not started by a cppless host");
  }
  if (register_for_heavy_fences() != (control_->fences_are_asymmetric != 0)) {
    throw rejected("worker " + std::to_string(index) + " may not use membarrier as its host does");
  }
  is_traced_ = control_->is_traced != 0;
  is_tracing.store(is_traced_, std::memory_order_relaxed);  // what tasks dispatch, too
  current_ = this;
  install(*this);
  install_variable_cells(control_->variables);
}

void worker_loop::run() {
  standing_in::install(worker_link::get());
  record_->is_alive.store(1, std::memory_order_release);
  for (;;) {
    const std::uint32_t slot = wait_for_task();
    if (slot == no_slot) return;
    run_slot(slot);
  }
}

std::uint32_t queue_cursor::claim(task_slot* slots, std::uint32_t worker) noexcept {
  for (std::uint64_t at = place();; ++at) {
    const queue_entry entry = queue_.at(at);
    const std::int32_t rounds = entry.rounds_since(at);
    if (rounds < 0) {
      at_ = at;
      // The host feeds the queue by how many are left: those claimed by nobody are not.
      if (queue_.passed.load(std::memory_order_relaxed) < at) {
        queue_.passed.store(at, std::memory_order_relaxed);
      }
      return no_slot;
    }
    if (rounds > 0) continue;  // written over: what was here has been claimed long ago
    std::uint64_t ready = slot_state{slot_phase::ready, 0, entry.generation}.packed();
    const std::uint64_t mine =
        slot_state{slot_phase::taken, static_cast<std::uint16_t>(worker), entry.generation}.packed();
    if (!slots[entry.slot].state.compare_exchange_strong(ready, mine, std::memory_order_acq_rel)) {
      continue;
    }
    at_ = at + 1;
    queue_.passed.store(at_, std::memory_order_relaxed);
    // Most likely claimed next; meanwhile its line travels.
    const queue_entry next = queue_.at(at_);
    if (next.rounds_since(at_) == 0) prefetch_for_writing(&slots[next.slot]);
    return entry.slot;
  }
}

std::uint32_t worker_loop::claim() noexcept {
  const std::uint32_t slot = urgent_.claim(control_->slots, index_);
  return slot != no_slot ? slot : regular_.claim(control_->slots, index_);
}

std::uint32_t worker_loop::wait_for_task() {
  for (int spins = 0;; ++spins) {
    const auto command =
        static_cast<worker_command>(record_->command.load(std::memory_order_acquire));
    if (command == worker_command::exit) return no_slot;
    if (command == worker_command::park) {
      // It may have been woken for a task just before: another one is to take it.
      if (has_tasks()) wake_sleepers(*control_, 1);
      futex_wait(record_->command, static_cast<std::uint32_t>(worker_command::park));
      spins = 0;
      last_end_ = 0;
      continue;
    }
    if (const std::uint32_t slot = claim(); slot != no_slot) return slot;
    last_end_ = 0;
    if (spins < spins_before_sleep) {
      spin_turn(spins);
    } else {
      sleep_until_woken();
      spins = 0;
    }
  }
}

void worker_loop::sleep_until_woken() noexcept {
  std::atomic<std::uint64_t>& asleep = control_->asleep[index_ / 64];
  const std::uint64_t bit = std::uint64_t{1} << (index_ % 64);
  const std::uint32_t word = record_->wake_word.load(std::memory_order_acquire);
  asleep.fetch_or(bit, std::memory_order_seq_cst);
  heavy_fence();
  const bool may_sleep = !has_tasks() && record_->command.load(std::memory_order_seq_cst) == 0;
  if (may_sleep) futex_wait(record_->wake_word, word);
  asleep.fetch_and(~bit, std::memory_order_seq_cst);
}

const entry& worker_loop::find(std::uint64_t identity) {
  if (last_found_ != nullptr && last_found_->identity() == identity) return *last_found_;
  const entry*& known = entries_[identity];
  if (known == nullptr) known = find_entry(identity);
  if (known == nullptr) {
    throw rejected("this worker's program has no task of identity " + std::to_string(identity));
  }
  return *(last_found_ = known);
}

std::span<const std::byte> worker_loop::find(const content_key&, std::uint64_t offset,
                                             std::uint64_t size) {
  if (size > requests_.size() || offset > requests_.size() - size) {
    throw rejected("a shared value of " + std::to_string(size) + " bytes at " +
                   std::to_string(offset) + " does not lie within the " +
                   std::to_string(requests_.size()) + " bytes shared with workers");
  }
  return {requests_.data() + offset, static_cast<std::size_t>(size)};
}

source worker_loop::request_of(const task_slot& slot) const {
  if (slot.is_inline != 0) return {slot.inline_request, slot.inline_size};
  return {requests_.data() + slot.request.offset, slot.request.size};
}

run_outcome worker_loop::execute(task_slot& slot, std::uint64_t started, result_sink& result) {
  const bool is_limited =
      slot.is_inline == 0 && (slot.request.timeout_ns != 0 || slot.request.memory_bytes != 0);
  try {
    const entry& what = find(slot.identity);
    source request = request_of(slot);
    update_scope updates;
    if (!is_limited) {
      what.run(request, result);
      return append(updates.log, result);
    }
    const std::uint64_t memory_bytes = slot.request.memory_bytes;
    slot.request.started = started;
    task_limits_guard limits(slot.request.timeout_ns, memory_bytes);
    try {
      what.run(request, result);
      return append(updates.log, result);
    } catch (const std::bad_alloc&) {
      limits.lift();
      encode_exception(result);
      return memory_bytes != 0 ? run_outcome::out_of_memory : run_outcome::exception;
    }
  } catch (...) {
    encode_exception(result);
    return run_outcome::exception;
  }
}

run_outcome worker_loop::execute_marked(task_slot& slot, std::uint64_t started,
                                        result_sink& result, run_marks& marks) {
  run_marks* const outer = current_marks.exchange(&marks, std::memory_order_relaxed);
  const run_outcome outcome = execute(slot, started, result);
  current_marks.store(outer, std::memory_order_relaxed);
  return outcome;
}

void worker_loop::run_slot(std::uint32_t index) {
  task_slot& slot = control_->slots[index];
  if (depth_ != 0) finish_output(shortest_write_ns);  // of the task that waits, under its name
  const std::uint64_t outer_identity = record_->current_identity.load(std::memory_order_relaxed);
  const std::uint64_t outer_start = record_->current_start.load(std::memory_order_relaxed);
  const std::uint64_t before = std::exchange(last_end_, 0);
  const std::uint64_t started = before != 0 ? before : ticks();
  record_->current_identity.store(slot.identity, std::memory_order_relaxed);
  record_->current_start.store(started, std::memory_order_relaxed);
  const bool is_cold = std::exchange(is_cold_, false);
  const std::uint64_t outer_waited = std::exchange(waited_, 0);
  result_sink result(blocks_);
  run_marks marks;
  const std::uint32_t outer_slot = std::exchange(current_slot_, index);
  ++depth_;
  const run_outcome outcome = is_traced_ ? execute_marked(slot, started, result, marks)
                                         : execute(slot, started, result);
  --depth_;
  current_slot_ = outer_slot;
  const std::uint64_t ended = ticks();
  tick_clock::get().refine(ended);
  const std::uint64_t run_ns = tick_clock::get().to_ns(ended - started);
  if (run_ns >= worth_measuring_ns || peak_memory_kib_ == 0) {
    peak_memory_kib_ = clamped(peak_resident_bytes() / 1024);
  }
  const bool has_paused = finish_output(run_ns);
  if (depth_ != 0) {
    record_->current_identity.store(outer_identity, std::memory_order_relaxed);
    record_->current_start.store(outer_start, std::memory_order_relaxed);
  }
  finished_record& record = finished_->at(finished_count_);
  record.slot = static_cast<std::uint16_t>(index);
  record.outcome = outcome;
  record.is_cold = is_cold ? 1 : 0;
  record.started = started;
  record.ended = ended;
  record.peak_memory_kib = peak_memory_kib_;
  record.waited_us = waited_ == 0 ? 0 : clamped(tick_clock::get().to_ns(waited_) / 1000);
  waited_ = outer_waited;
  if (is_traced_) {
    control_->marks[index_].marks[finished_count_ % slot_count] = {marks.decoded.load(),
                                                                   marks.called.load()};
  }
  hand_in(record, result, slot);
  last_end_ = has_paused ? 0 : ended;
}

// What the task printed is to be shown, under its name, before its result is seen. True if that may
// have taken time.
bool worker_loop::finish_output(std::uint64_t run_ns) noexcept {
  const bool has_buffered = __fpending(stdout) != 0 || __fpending(stderr) != 0;
  if (has_buffered) {
    std::fflush(stdout);
    std::fflush(stderr);
  } else if (run_ns < shortest_write_ns) {
    return false;
  }
  constexpr std::uint64_t look_again_ns = 5'000'000;
  for (;;) {
    const std::uint32_t word = record_->output_word.load(std::memory_order_acquire);
    int unread = 0;
    if (::ioctl(STDOUT_FILENO, FIONREAD, &unread) != 0) break;
    if (unread == 0 && record_->output_is_read.load(std::memory_order_acquire) == 0) {
      if (record_->line_is_open.load(std::memory_order_relaxed) == 0) break;
      // The next task's output must not continue this one's line.
      if (::write(STDOUT_FILENO, "\n", 1) != 1) break;
    }
    futex_wait(record_->output_word, word, look_again_ns);
  }
  return true;
}

void worker_loop::hand_in(finished_record& record, result_sink& result,
                          const task_slot& slot) noexcept {
  const std::uint64_t state = slot.state.load(std::memory_order_relaxed);
  record.generation = slot_state::unpack(state).generation;
  record.result_size = result.size();
  if (result.size() <= first_line_result_bytes) {
    std::memcpy(record.inline_result, result.data(), first_line_result_bytes);
  } else if (result.size() <= inline_result_bytes) {
    std::memcpy(record.inline_result, result.data(), result.size());
  } else {
    record.result_offset = blocks_.offset_of(result.data());
    blocks_.lend(result.data(), result.capacity(), slot, state);
    result.disown();
  }
  record.number.store(++finished_count_, std::memory_order_release);
  prefetch_for_writing(&finished_->at(finished_count_));
  ring();
}

void worker_loop::add_wait(std::uint64_t begin) noexcept {
  if (std::this_thread::get_id() == thread_) waited_ += ticks() - begin;
}

void worker_loop::ring() noexcept {
  light_fence();
  if (control_->bell.load(std::memory_order_relaxed) == 0) return;
  const auto target = static_cast<bell_target>(control_->bell.exchange(0));
  if (target == bell_target::driver) futex_wake(control_->bell);
  if (target == bell_target::supervisor) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_descriptor, &one, sizeof one);
  }
}

}  // namespace cppless::detail

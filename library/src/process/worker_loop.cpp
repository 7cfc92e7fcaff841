// SPDX-License-Identifier: Apache-2.0
#include "process/worker_loop.hpp"

#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "process/task_limits_guard.hpp"
#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

// About as long as waking a sleeper takes: shorter waits are cheaper spun, longer ones slept.
constexpr int spins_before_sleep = 2000;

// A task that took less cannot have written to a pipe, so its output need not be looked for.
constexpr std::uint64_t shortest_write_ns = 500;

// Runs that may have changed the peak; asking the kernel costs more than a short task takes.
constexpr std::uint64_t worth_measuring_ns = 20'000;

/// A sink that starts in the slot and moves to the worker's memory.
class result_sink final : public sink {
 public:
  result_sink(task_slot& slot, result_blocks& blocks) noexcept
      : sink(slot.inline_result, inline_result_bytes), slot_(&slot), blocks_(&blocks) {}
  ~result_sink() {
    if (!is_inline()) blocks_->release(begin_, capacity());
  }

  bool is_inline() const noexcept { return begin_ == slot_->inline_result; }
  std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - begin_); }

  /// The bytes belong to the host from here on, until it frees the slot.
  void hand_over(std::uint64_t done_state) {
    slot_->result_size = size();
    if (is_inline()) return;
    if (size() <= inline_result_bytes) {
      // What was written before an exception needed a block, its description does not.
      std::memcpy(slot_->inline_result, begin_, size());
      blocks_->release(begin_, capacity());
    } else {
      slot_->result_offset = blocks_->offset_of(begin_);
      blocks_->lend(begin_, capacity(), *slot_, done_state);
    }
    begin_ = cur_ = slot_->inline_result;
    end_ = begin_ + inline_result_bytes;
  }

 private:
  void grow(std::size_t more) override {
    blocks_->reclaim();
    const std::size_t used = size();
    std::size_t wanted = std::max(used + more, 2 * capacity());
    std::byte* const block = blocks_->allocate(wanted);
    std::memcpy(block, begin_, used);
    if (!is_inline()) blocks_->release(begin_, capacity());
    begin_ = block;
    cur_ = block + used;
    end_ = block + wanted;
  }

  task_slot* slot_;
  result_blocks* blocks_;
};

void encode_exception(sink& to) {
  const described_exception thrown = describe_current_exception();
  to.truncate(0);
  encode(to, thrown.type);
  encode(to, thrown.what);
}

std::uint64_t done_state(std::uint64_t taken_state) noexcept {
  slot_state state = slot_state::unpack(taken_state);
  state.phase = slot_phase::done;
  return state.packed();
}

}  // namespace

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
      blocks_(memory_) {
  if (index >= max_workers || control_memory_.size() < sizeof(shared_control)) {
    throw rejected("worker " + std::to_string(index) + " was not started by a cppless host");
  }
  current_ = this;
}

void worker_loop::run() {
  record_->is_alive.store(1, std::memory_order_release);
  for (;;) {
    const std::uint32_t slot = wait_for_task();
    if (slot == no_slot) return;
    run_slot(slot);
  }
}

std::uint32_t worker_loop::claim(task_queue& from) noexcept {
  for (std::uint32_t index = from.pop(); index != no_slot; index = from.pop()) {
    if (index >= slot_count) continue;
    std::atomic<std::uint64_t>& state = control_->slots[index].state;
    std::uint64_t seen = state.load(std::memory_order_acquire);
    slot_state mine = slot_state::unpack(seen);
    if (mine.phase != slot_phase::ready) continue;
    mine.phase = slot_phase::taken;
    mine.worker = static_cast<std::uint16_t>(index_);
    if (state.compare_exchange_strong(seen, mine.packed(), std::memory_order_acq_rel)) return index;
  }
  return no_slot;
}

std::uint32_t worker_loop::wait_for_task() {
  for (int spins = 0;; ++spins) {
    const auto command =
        static_cast<worker_command>(record_->command.load(std::memory_order_acquire));
    if (command == worker_command::exit) return no_slot;
    if (command == worker_command::park) {
      // It may have been woken for a task just before: another one is to take it.
      if (!control_->urgent.is_empty() || !control_->regular.is_empty()) {
        wake_sleepers(*control_, 1);
      }
      futex_wait(record_->command, static_cast<std::uint32_t>(worker_command::park));
      spins = 0;
      continue;
    }
    std::uint32_t slot = claim(control_->urgent);
    if (slot == no_slot) slot = claim(control_->regular);
    if (slot != no_slot) return slot;
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
  const bool may_sleep = control_->urgent.is_empty() && control_->regular.is_empty() &&
                         record_->command.load(std::memory_order_seq_cst) == 0;
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

source worker_loop::request_of(const task_slot& slot) const {
  if (slot.is_inline != 0) return {slot.inline_request, slot.inline_size};
  return {requests_.data() + slot.request.offset, slot.request.size};
}

void worker_loop::execute(task_slot& slot, std::uint64_t taken_state) {
  result_sink result(slot, blocks_);
  const bool is_limited =
      slot.is_inline == 0 && (slot.request.timeout_ns != 0 || slot.request.memory_bytes != 0);
  try {
    const entry& what = find(slot.identity);
    source request = request_of(slot);
    if (is_limited) {
      const std::uint64_t memory_bytes = slot.request.memory_bytes;
      task_limits_guard limits(slot.request.timeout_ns, memory_bytes);
      try {
        what.run(request, result);
      } catch (const std::bad_alloc&) {
        limits.lift();
        slot.outcome = memory_bytes != 0 ? run_outcome::out_of_memory : run_outcome::exception;
        encode_exception(result);
        result.hand_over(done_state(taken_state));
        return;
      }
    } else {
      what.run(request, result);
    }
    slot.outcome = run_outcome::result;
  } catch (...) {
    slot.outcome = run_outcome::exception;
    encode_exception(result);
  }
  result.hand_over(done_state(taken_state));
}

void worker_loop::run_slot(std::uint32_t index) {
  task_slot& slot = control_->slots[index];
  const std::uint64_t taken_state = slot.state.load(std::memory_order_relaxed);
  if (depth_ != 0) finish_output(shortest_write_ns);  // of the task that waits, under its name
  const std::uint64_t outer_identity =
      record_->current_identity.load(std::memory_order_relaxed);
  record_->current_identity.store(slot.identity, std::memory_order_relaxed);
  slot.is_cold = std::exchange(is_cold_, false) ? 1 : 0;
  ++depth_;
  slot.started_ns = now_ns();
  execute(slot, taken_state);
  slot.ended_ns = now_ns();
  --depth_;
  const std::uint64_t run_ns = slot.ended_ns - slot.started_ns;
  if (run_ns >= worth_measuring_ns || peak_memory_ == 0) peak_memory_ = peak_resident_bytes();
  slot.peak_memory = peak_memory_;
  finish_output(run_ns);
  if (depth_ != 0) record_->current_identity.store(outer_identity, std::memory_order_relaxed);
  hand_in(index, slot, taken_state);
}

// What the task printed is to be shown, under its name, before its result is seen.
void worker_loop::finish_output(std::uint64_t run_ns) noexcept {
  const bool has_buffered = __fpending(stdout) != 0 || __fpending(stderr) != 0;
  if (has_buffered) {
    std::fflush(stdout);
    std::fflush(stderr);
  } else if (run_ns < shortest_write_ns) {
    return;
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
}

void worker_loop::hand_in(std::uint32_t index, task_slot& slot,
                          std::uint64_t taken_state) noexcept {
  slot.state.store(done_state(taken_state), std::memory_order_release);
  std::uint32_t head = control_->done_head.load(std::memory_order_relaxed);
  do {
    slot.next_done.store(head, std::memory_order_relaxed);
  } while (!control_->done_head.compare_exchange_weak(head, index, std::memory_order_seq_cst));
  ring();
}

void worker_loop::ring() noexcept {
  if (control_->bell.load(std::memory_order_seq_cst) == 0) return;
  const auto target = static_cast<bell_target>(control_->bell.exchange(0));
  if (target == bell_target::driver) futex_wake(control_->bell);
  if (target == bell_target::supervisor) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_descriptor, &one, sizeof one);
  }
}

}  // namespace cppless::detail

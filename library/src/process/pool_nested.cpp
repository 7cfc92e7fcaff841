// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include <cppless/detail/wire/binary.hpp>

#include "base/futex.hpp"
#include "process/pool.hpp"
#include "task/traced_job.hpp"

namespace cppless::detail {

/// A task that another task dispatched: its outcome goes back to that task's worker.
class nested_job final : public job {
 public:
  nested_job(const entry& what, pool& owner, std::uint64_t parent_key, std::uint64_t local_id)
      : job(what, owner.memory()), owner_(owner) {
    parent = parent_key;
    parent_local_id = local_id;
  }

  void succeed(source& result) override {
    const std::size_t size = result.remaining();
    send(inbox_message::kind_type::result, {result.take(size), size});
  }

  void fail(std::exception_ptr reason) noexcept override {
    heap_sink encoded;
    try {
      std::rethrow_exception(reason);
    } catch (const task_failed& error) {
      encode_failure(encoded, error, error.remote_type());
    } catch (const error& error) {
      encode_failure(encoded, error, {});
    } catch (const std::exception& error) {
      encode_failure(encoded, rejected(error.what()), {});
    }
    send(inbox_message::kind_type::failure, {encoded.data(), encoded.size()});
  }

  bool is_awaited() const noexcept override { return false; }

 private:
  static void encode_failure(sink& to, const error& error, const std::string& remote_type) {
    encode(to, error.kind());
    encode(to, std::string(error.what()));
    encode(to, remote_type);
  }

  void send(inbox_message::kind_type kind, std::span<const std::byte> bytes) {
    inbox_message message{};
    message.kind = kind;
    message.is_cold = statistics.cold ? 1 : 0;
    message.attempts = statistics.attempts;
    message.local_id = parent_local_id;
    message.queue_ns = static_cast<std::uint64_t>(statistics.queue.count());
    message.run_ns = static_cast<std::uint64_t>(statistics.run.count());
    message.peak_memory = statistics.peak_memory;
    message.id = statistics.id;
    owner_.reply(parent, message, bytes);
  }

  pool& owner_;
};

bool pool::handle_messages() {
  if (control_->messages.load(std::memory_order_acquire) ==
      messages_seen_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::unique_lock handling(messages_mutex_, std::try_to_lock);
  if (!handling.owns_lock()) return false;
  const std::uint32_t messages = control_->messages.load(std::memory_order_acquire);
  if (messages_seen_.exchange(messages) == messages) return false;
  for (std::uint32_t index = 0; index < workers_used_.load(); ++index) handle_outbox(index);
  const std::lock_guard lock(mutex_);
  balance();
  return true;
}

// What no worker writes: what else it writes cannot be relied on either.
void pool::end_faulty(worker& writer, const std::string& what) {
  if (!writer.process.is_running() || !writer.fault.empty()) return;
  writer.fault = "worker process " + std::to_string(writer.process.pid()) + " was ended, as it " + what;
  writer.process.kill();
}

// The worker can write both ends of its outbox, so the host keeps for itself how far it has read.
void pool::handle_outbox(std::uint32_t index) {
  auto& outbox = control_->workers[index].outbox;
  std::uint64_t& read = workers_[index].outbox_read;
  const std::uint64_t end = outbox.tail.load(std::memory_order_acquire);
  if (end - read > outbox.capacity) {
    const std::lock_guard lock(mutex_);
    end_faulty(workers_[index], "claimed " + std::to_string(end - read) +
                                    " messages in its outbox of " + std::to_string(outbox.capacity));
    return;
  }
  for (; read != end; outbox.head.store(++read, std::memory_order_release)) {
    handle(index, outbox.at(read));
  }
}

void pool::handle(std::uint32_t index, const outbox_message& message) {
  switch (message.kind) {
    case outbox_message::kind_type::submit: submit_nested(index, message); return;
    case outbox_message::kind_type::cancel: {
      std::uint64_t key = 0;
      {
        const std::lock_guard lock(mutex_);
        key = key_of(index);
      }
      stop_nested(key, message.local_id);
      return;
    }
    case outbox_message::kind_type::wait_begins:
    case outbox_message::kind_type::wait_ends: {
      const std::lock_guard lock(mutex_);
      worker& sender = workers_[index];
      const bool begins = message.kind == outbox_message::kind_type::wait_begins;
      if (sender.process.is_running()) sender.is_waiting = begins;
      return;
    }
    case outbox_message::kind_type::decoded: {
      pid_t pid = 0;
      {
        const std::lock_guard lock(mutex_);
        pid = workers_[index].process.pid();
      }
      write_remote_decoding(message.local_id, trace_number(), static_cast<std::uint64_t>(pid),
                            message.trace_begin, message.trace_end);
      return;
    }
  }
}

void pool::submit_nested(std::uint32_t index, const outbox_message& message) {
  std::uint64_t key = 0;
  std::shared_ptr<const shared_memory> memory;
  {
    const std::lock_guard lock(mutex_);
    if (!workers_[index].process.is_running()) return;
    key = key_of(index);
    memory = workers_[index].process.memory();
  }
  const auto refuse = [&](error_kind kind, const std::string& why) {
    heap_sink encoded;
    encode(encoded, kind);
    encode(encoded, why);
    encode(encoded, std::string());
    inbox_message answer{};
    answer.kind = inbox_message::kind_type::failure;
    answer.local_id = message.local_id;
    reply(key, answer, {encoded.data(), encoded.size()});
  };
  const entry* const what = find_entry(message.identity);
  if (what == nullptr || message.size > memory->size() ||
      message.offset > memory->size() - message.size) {
    refuse(error_kind::rejected, "a worker sent a malformed request of " +
                                     std::to_string(message.size) + " bytes");
    return;
  }
  try {
    auto made = std::make_unique<nested_job>(*what, *this, key, message.local_id);
    if (made->trace != nullptr) [[unlikely]] trace_nested(*made->trace, index, message);
    made->payload.write(memory->data() + message.offset, message.size);
    submit(std::move(made));
  } catch (const error& reason) {
    refuse(reason.kind(), reason.what());
  }
}

void pool::trace_nested(task_trace& of, std::uint32_t index, const outbox_message& message) {
  const std::lock_guard lock(mutex_);
  of.creator = static_cast<std::uint64_t>(workers_[index].process.pid());
  of.created = message.trace_begin;
  of.encoded = message.trace_end;
  const flight& entry = flights_[message.trace_slot % slot_count];
  if (entry.what != nullptr) of.parent = entry.what->statistics.id;
}

void pool::reply(std::uint64_t key, inbox_message message, std::span<const std::byte> bytes) {
  const std::uint32_t index = static_cast<std::uint32_t>(key) - 1;
  const std::lock_guard lock(mutex_);
  worker& to = workers_[index];
  if (!to.process.is_running() || key_of(index) != key) return;  // nobody waits any more
  worker_record& record = control_->workers[index];
  message.size = bytes.size();
  if (!bytes.empty()) {
    std::size_t capacity = bytes.size();
    message.offset = request_arena_.allocate(capacity);
    std::memcpy(requests_.data() + message.offset, bytes.data(), bytes.size());
    const std::uint64_t position = to.inbox_written + to.unsent.size();
    to.inbox_blocks.push_back({position, message.offset, capacity});
  }
  to.unsent.push_back(message);
  deliver_unsent(to, record);
}

void pool::deliver_unsent(worker& to, worker_record& record) {
  auto& inbox = record.inbox;
  const std::uint64_t read = inbox.head.load(std::memory_order_acquire);
  if (to.inbox_written - read > inbox.capacity) {
    end_faulty(to, "claimed to have read " + std::to_string(read) + " messages of " +
                       std::to_string(to.inbox_written));
    return;
  }
  std::erase_if(to.inbox_blocks, [&](const inbox_block& each) {
    if (each.position >= read) return false;
    request_arena_.release(each.offset, each.capacity);
    return true;
  });
  if (to.unsent.empty()) return;
  while (!to.unsent.empty() && to.inbox_written - read < inbox.capacity) {
    inbox.write(to.inbox_written++, to.unsent.front());
    to.unsent.pop_front();
  }
  record.inbox_word.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(record.inbox_word);
}

void pool::set_command(std::uint32_t index, worker_command command) noexcept {
  std::atomic<std::uint32_t>& word = control_->workers[index].command;
  word.store(static_cast<std::uint32_t>(command), std::memory_order_seq_cst);
  futex_wake_all(word);
}

// Workers that take tasks or run one: neither parked nor waiting for tasks of their own.
unsigned pool::active_workers() const noexcept {
  const auto end = workers_.begin() + workers_used_;
  return static_cast<unsigned>(std::count_if(workers_.begin(), end, [](const worker& each) {
    return each.process.is_running() && !each.is_parked && !each.is_waiting;
  }));
}

// Keeps as many workers at work as there should be, however many wait for tasks of their own.
void pool::balance() {
  unsigned active = active_workers();
  for (std::uint32_t index = 0; index < workers_used_ && active < target_; ++index) {
    worker& each = workers_[index];
    if (!each.is_parked || each.is_waiting || !each.process.is_running()) continue;
    each.is_parked = false;
    ++active;
    set_command(index, worker_command::run);
  }
  for (std::uint32_t index = workers_used_; index-- > 0 && active > target_;) {
    worker& each = workers_[index];
    if (each.is_parked || each.is_waiting || !each.process.is_running()) continue;
    each.is_parked = true;
    --active;
    set_command(index, worker_command::park);
  }
  const bool at_limit = running_ >= most_processes();
  if (active < target_ && !at_limit && running_ < outstanding()) kick();
  for (std::uint32_t index = 0; index < workers_used_; ++index) {
    worker& each = workers_[index];
    if (!each.process.is_running()) continue;
    deliver_unsent(each, control_->workers[index]);
    if (at_limit && active < target_ && each.is_waiting && run_in_place(index)) ++active;
  }
}

// Has a waiting worker run a task that it waits for and that nobody has taken.
bool pool::run_in_place(std::uint32_t index) {
  const std::uint64_t key = key_of(index);
  const auto taken = [&](std::uint32_t generation) {
    return slot_state{slot_phase::taken, static_cast<std::uint16_t>(index), generation}.packed();
  };
  std::uint32_t found = no_slot;
  for (std::uint32_t at = 0; at < slot_count && found == no_slot; ++at) {
    flight& entry = flights_[at];
    if (entry.what == nullptr || entry.what->parent != key) continue;
    std::uint64_t ready = slot_state{slot_phase::ready, 0, entry.generation}.packed();
    if (!control_->slots[at].state.compare_exchange_strong(ready, taken(entry.generation))) continue;
    found = at;
    add_stale_entry();
  }
  if (found == no_slot && !free_slots_.empty()) {
    const auto own = std::find_if(nested_.rbegin(), nested_.rend(),
                                  [&](const auto& each) { return each->parent == key; });
    if (own == nested_.rend()) return false;
    found = free_slots_.back();
    free_slots_.pop_back();
    flight& entry = flights_[found];
    if ((*own)->trace == nullptr) [[likely]] {
      write_request(control_->slots[found], entry, **own);
    } else {
      write_traced_request(control_->slots[found], entry, **own);
    }
    ++entry.generation;
    entry.verdict.reset();
    entry.is_urgent = true;
    ++(*own)->statistics.attempts;
    entry.what = std::move(*own);
    nested_.erase(std::next(own).base());
    control_->slots[found].state.store(taken(entry.generation));
  }
  if (found == no_slot) return false;
  worker& runner = workers_[index];
  runner.is_waiting = false;
  inbox_message message{};
  message.kind = inbox_message::kind_type::execute;
  message.offset = found;
  runner.unsent.push_back(message);
  deliver_unsent(runner, control_->workers[index]);
  return true;
}

}  // namespace cppless::detail

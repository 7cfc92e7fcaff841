// SPDX-License-Identifier: Apache-2.0
#include "process/worker_link.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <cppless/detail/wire/binary.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/ticks.hpp"

namespace cppless::detail {
namespace {

// The host hears of a wait, and has another worker stand in, after about the time that a short task
// takes on a worker that is free.
constexpr int spins_before_announcing = 300;
constexpr int spins_before_sleep = 2000;

std::uint64_t nanoseconds_until(time_point until) noexcept {
  if (until == time_point::max()) return 0;
  const auto left = until - std::chrono::steady_clock::now();
  return left.count() <= 0 ? 1 : static_cast<std::uint64_t>(left.count());
}

failure decode_failure(source& from) {
  failure decoded;
  decoded.kind = decode<error_kind>(from);
  decoded.message = decode<std::string>(from);
  decoded.remote_type = decode<std::string>(from);
  return decoded;
}

}  // namespace

worker_link& worker_link::get() {
  static worker_link link(*worker_loop::current());
  return link;
}

void worker_link::send(std::unique_ptr<job> sent, std::shared_ptr<nested_instance> owner) {
  const std::lock_guard lock(mutex_);
  reclaim_requests();
  const std::size_t size = sent->payload.size();
  std::byte* block = loop_.memory().data();
  if (size != 0) {
    std::size_t capacity = size;
    block = loop_.blocks().allocate(capacity);
    std::memcpy(block, sent->payload.data(), size);
    loans_.push_back({loop_.record().outbox.tail.load(), block, capacity});
  }
  const std::uint64_t local_id = ++last_local_id_;
  outbox_message message{outbox_message::kind_type::submit, local_id, sent->what.identity(),
                         loop_.blocks().offset_of(block), size};
  if (sent->trace != nullptr) [[unlikely]] {
    message.trace_begin = sent->trace->created;
    message.trace_end = sent->submitted;
    message.trace_slot = loop_.current_slot();
  }
  sent->payload.release();
  pending_.try_emplace(local_id, std::move(sent), std::move(owner));
  post(message);
}

void worker_link::reclaim_requests() noexcept {
  const std::uint64_t read = loop_.record().outbox.head.load(std::memory_order_acquire);
  std::erase_if(loans_, [&](const request_loan& loan) {
    if (loan.position >= read) return false;
    loop_.blocks().release(loan.block, loan.capacity);
    return true;
  });
}

void worker_link::post(const outbox_message& message) noexcept {
  constexpr std::uint64_t look_again_ns = 100'000;
  auto& outbox = loop_.record().outbox;
  while (outbox.is_full()) {
    loop_.ring();
    std::atomic<std::uint32_t> nobody{0};
    futex_wait(nobody, 0, look_again_ns);
  }
  outbox.push(message);
  loop_.control().messages.fetch_add(1, std::memory_order_seq_cst);
  loop_.ring();
}

bool worker_link::cancel(const nested_instance& owner, task_id id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [local_id, each] : pending_) {
    if (each.owner.get() != &owner || each.what->statistics.id != id) continue;
    post({outbox_message::kind_type::cancel, local_id, 0, 0, 0});
    return true;
  }
  return false;
}

job_list worker_link::withdraw(const nested_instance& owner) {
  const std::lock_guard lock(mutex_);
  job_list withdrawn;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (at->second.owner.get() != &owner) {
      ++at;
      continue;
    }
    post({outbox_message::kind_type::cancel, at->first, 0, 0, 0});
    withdrawn.push_back(std::move(at->second.what));
    at = pending_.erase(at);
  }
  return withdrawn;
}

void worker_link::wake() noexcept {
  loop_.record().inbox_word.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(loop_.record().inbox_word);
}

bool worker_link::pump(nested_instance& driver) {
  auto& inbox = loop_.record().inbox;
  for (bool any = false;; any = true) {
    pending settled;
    inbox_message message{};
    {
      const std::lock_guard lock(inbox_mutex_);
      if (inbox.is_empty()) return any;
      message = inbox.front();
      settled = take(message);
      if (settled.what != nullptr) settle(*settled.what, message);
      inbox.pop();  // its bytes are the host's again
    }
    if (message.kind == inbox_message::kind_type::execute) {
      loop_.run_slot(static_cast<std::uint32_t>(message.offset));
    } else if (settled.what != nullptr) {
      job_list finished;
      finished.push_back(std::move(settled.what));
      settled.owner->publish(std::move(finished), settled.owner.get() == &driver);
    }
  }
}

worker_link::pending worker_link::take(const inbox_message& message) {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(message.local_id);
  if (found == pending_.end()) return {};  // withdrawn meanwhile, or a task to run
  pending taken = std::move(found->second);
  pending_.erase(found);
  return taken;
}

void worker_link::settle(job& settled, const inbox_message& message) {
  execution_statistics& statistics = settled.statistics;
  statistics.cold = message.is_cold != 0;
  statistics.attempts = message.attempts;
  statistics.queue = std::chrono::nanoseconds(message.queue_ns);
  statistics.run = std::chrono::nanoseconds(message.run_ns);
  statistics.peak_memory = message.peak_memory;
  source bytes(loop_.requests().data() + message.offset, message.size);
  if (message.kind == inbox_message::kind_type::result) {
    nested_instance::settle(settled, bytes);
  } else {
    nested_instance::settle(settled, decode_failure(bytes));
  }
  if (settled.trace == nullptr) [[likely]] return;
  outbox_message decoded{outbox_message::kind_type::decoded, message.id, 0, 0, 0};
  decoded.trace_begin = settled.trace->received;
  decoded.trace_end = settled.trace->settled;
  const std::lock_guard lock(mutex_);
  post(decoded);
}

void worker_link::wait_begins() noexcept {
  const std::lock_guard lock(mutex_);
  ++waiting_threads_;
  post({outbox_message::kind_type::wait_begins, 0, 0, 0, 0});
}

void worker_link::wait_ends() noexcept {
  const std::lock_guard lock(mutex_);
  if (--waiting_threads_ == 0) post({outbox_message::kind_type::wait_ends, 0, 0, 0, 0});
}

void worker_link::drive(nested_instance& driver, time_point until) {
  const std::uint64_t begin = ticks();
  if (!spin(driver, spins_before_announcing)) {
    wait_begins();
    if (!spin(driver, spins_before_sleep)) sleep(driver, until);
    wait_ends();  // before a message is handled, which may be a task to run here that waits itself
  }
  pump(driver);
  loop_.add_wait(begin);
}

// True if there is a message or there was an interruption.
bool worker_link::spin(nested_instance& driver, int turns) noexcept {
  const auto& inbox = loop_.record().inbox;
  for (int turn = 0; turn < turns; ++turn) {
    if (!inbox.is_empty()) return true;
    if (driver.is_interrupted.load(std::memory_order_relaxed) &&
        driver.is_interrupted.exchange(false)) {
      return true;
    }
    spin_turn(turn);
  }
  return false;
}

void worker_link::sleep(nested_instance& driver, time_point until) noexcept {
  auto& record = loop_.record();
  for (;;) {
    const std::uint32_t word = record.inbox_word.load(std::memory_order_seq_cst);
    if (!record.inbox.is_empty() || driver.is_interrupted.exchange(false)) return;
    if (until != time_point::max() && std::chrono::steady_clock::now() >= until) return;
    futex_wait(record.inbox_word, word, nanoseconds_until(until));
  }
}

void nested_instance::shut_down() noexcept {
  job_list withdrawn = worker_link::get().withdraw(*this);
  job_list settled;
  while (!withdrawn.empty()) {
    std::unique_ptr<job> each = withdrawn.pop_front();
    settle(*each, failure{error_kind::cancelled, "the instance was closed"});
    settled.push_back(std::move(each));
  }
  publish(std::move(settled), false);
}

}  // namespace cppless::detail

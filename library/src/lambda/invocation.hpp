// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "http/exchange.hpp"
#include "lambda/answer.hpp"
#include "lambda/sha256.hpp"

namespace cppless::detail {

class lambda_instance;
struct lambda_function;

/// What comes back of one Invoke request.
class invoke_exchange : public http_exchange {
 public:
  void on_status(unsigned status) override { answer.status = status; }
  void on_header(std::string_view name, std::string_view value) override;
  bool on_body(std::string_view some) override;

  lambda_answer answer;

 protected:
  ~invoke_exchange() = default;
};

class invocation;

/// A second attempt at an invocation that takes suspiciously long: whichever is answered first with
/// a result counts. The I/O thread's.
class duplicate final : public invoke_exchange {
 public:
  explicit duplicate(invocation& of) : of_(of) {}
  ~duplicate() = default;

  // http_exchange
  http_request prepare() override;
  void on_end() override;
  void on_failure(const http_failure& failure) override;

  bool is_under_way = true;

 private:
  invocation& of_;
};

/// One job on its way through Lambda. Made by the dispatching thread, then the I/O thread's; the job
/// in it may be taken out, under the instance's lock, by whoever cancels it.
class invocation final : public invoke_exchange {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  enum class phase { queued, in_flight, waits_for_retry, concluded };

  invocation(lambda_instance& owner, std::unique_ptr<job> sent);
  ~invocation() = default;

  // http_exchange
  http_request prepare() override;
  void on_end() override;
  void on_failure(const http_failure& failure) override;

  /// Has the shared values that it names go along.
  void carry_shared();

  lambda_instance& owner;
  std::unique_ptr<job> what;  ///< Guarded by the instance's lock; nullptr once cancelled.
  const entry& called;
  const task_limits limits;
  const task_id id;
  const std::uint64_t deadline_ns;
  lambda_function* function = nullptr;
  const shared_uses shared;
  bool carries_shared = false;
  std::string body;
  sha256_digest body_hash;

  bool is_result = false;  ///< How it ended.
  failure reason{error_kind::lost, {}};

  phase at = phase::queued;
  std::uint64_t due_ns = 0;   ///< When it must be looked at; 0: never. Monotonic clock.
  std::uint64_t sent = 0;  ///< Last attempt, in ticks.
  std::uint64_t answered = 0;  ///< The same, of its end; only where the run is traced.
  unsigned lane = 0;           ///< Which line of the trace's picture it has; 0: none.
  std::uint64_t number = 0;   ///< For the sending rate.
  unsigned attempts = 0;      ///< That may have started the task.
  unsigned signature_state = 0;  ///< With which it was signed last.
  unsigned refusals = 0;      ///< In a row, that have not.
  std::unique_ptr<duplicate> second;  ///< At most one is ever made.

  // The instance's list of all, guarded by its lock, and its list of the moment.
  invocation* previous_of_all = nullptr;
  invocation* next_of_all = nullptr;
  invocation* next = nullptr;
};

/// Invocations in order, linked through `next`. Does not own them.
class invocation_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  invocation* first() const noexcept { return first_; }
  void push_back(invocation& added) noexcept {
    added.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &added;
    last_ = &added;
  }
  invocation* pop_front() noexcept {
    invocation* const taken = first_;
    if (taken != nullptr) first_ = taken->next;
    if (first_ == nullptr) last_ = nullptr;
    return taken;
  }
  void append(invocation_queue& other) noexcept {
    if (other.first_ == nullptr) return;
    (last_ != nullptr ? last_->next : first_) = other.first_;
    last_ = other.last_;
    other.first_ = other.last_ = nullptr;
  }
  bool remove(invocation& removed) noexcept {
    invocation* before = nullptr;
    for (invocation* at = first_; at != nullptr; before = at, at = at->next) {
      if (at != &removed) continue;
      (before != nullptr ? before->next : first_) = at->next;
      if (last_ == at) last_ = before;
      return true;
    }
    return false;
  }

 private:
  invocation* first_ = nullptr;
  invocation* last_ = nullptr;
};

}  // namespace cppless::detail

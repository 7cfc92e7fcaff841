// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/task/result_job.hpp>

namespace cppless::detail {

struct nothing {};

class parked;

/// Lets other threads have a turn, or other fibers.
void let_others_run() noexcept;

/// What `void` is stored as.
template <class T>
using stored_t = std::conditional_t<std::is_void_v<T>, nothing, T>;

/// What a future waits for, whatever its type.
class future_state_base {
 public:
  virtual ~future_state_base() = default;

  bool is_ready() const noexcept { return ready_.load(std::memory_order_acquire); }

  /// Makes progress until ready or `until`. True if ready.
  virtual bool wait_until(time_point until) = 0;
  virtual bool cancel() = 0;

  /// Whether it becomes ready without anybody waiting.
  virtual bool comes_by_itself() const noexcept { return false; }

  /// Runs `continuation` once ready: at once if it is, else on the thread that makes it so.
  void when_ready(std::function<void()> continuation);

  /// `who` is woken once ready. False if it is already.
  bool let_in(parked& who);
  /// False if `who` has been woken, or is being woken.
  bool take_out(parked& who) noexcept;

  /// Throws what the task failed with, if it did. The exception then belongs to the caller alone:
  /// once at most.
  void throw_error() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  std::exception_ptr error;
  execution_statistics statistics;

 protected:
  void set_ready() noexcept { ready_.store(true, std::memory_order_release); }
  void run_continuations() noexcept;

  const std::atomic<bool>& ready_flag() const noexcept { return ready_; }

 private:
  std::atomic<bool> ready_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> continuations_;
};

template <class T>
class future_state : public future_state_base {
 public:
  std::optional<stored_t<T>> value;
};

/// Waits until `awaited`, a task of `on`, is ready, at most until `until`. True if it is.
bool wait_for_task(instance_core& on, future_state_base& awaited, const std::atomic<bool>& is_ready,
                   time_point until);

/// The state of a task's future.
template <class T>
class task_state final : public future_state<T> {
 public:
  explicit task_state(std::shared_ptr<instance_core> core) : core_(std::move(core)) {}

  bool wait_until(time_point until) override {
    return wait_for_task(*core_, *this, this->ready_flag(), until);
  }
  bool cancel() override { return !this->is_ready() && core_->cancel(id); }
  bool comes_by_itself() const noexcept override { return core_->drives_itself(); }

  task_id id = 0;

 private:
  template <class>
  friend class future_job;

  std::shared_ptr<instance_core> core_;
};

/// A job whose result goes into a future.
template <class T>
class future_job final : public job {
 public:
  future_job(const entry& what, payload_memory& memory, std::shared_ptr<task_state<T>> state)
      : job(what, memory), state_(std::move(state)) {}

  void succeed(source& from) override {
    if constexpr (std::is_void_v<T>) {
      state_->value.emplace();
    } else if constexpr (is_serializable<T>) {  // else reported where the task is made
      state_->value.emplace(deferred_decode{from});
    }
    from.finish();
  }
  bool takes_objects() const noexcept override { return true; }
  void fail(std::exception_ptr reason) noexcept override { state_->error = std::move(reason); }
  bool is_awaited() const noexcept override { return false; }
  std::exception_ptr thrown() const noexcept override { return state_->error; }
  void publish() noexcept override {
    state_->statistics = statistics;
    state_->set_ready();
  }
  void notify() noexcept override { state_->run_continuations(); }

 private:
  // Converts where the value is to be, so that results need be neither copied nor moved.
  struct deferred_decode {
    source& from;
    operator T() const {
      if (const std::unique_ptr<T> value = unpacked<T>(from)) return std::move(*value);
      return decode<T>(from);
    }
  };

  std::shared_ptr<task_state<T>> state_;
};

using future_parents = std::vector<std::shared_ptr<future_state_base>>;

/// Waits until `awaited` is `done`, in turns for its parents: these may belong to several instances,
/// each of which moves only while somebody waits on it.
bool wait_for_parents(future_state_base& awaited, const future_parents& parents,
                      const std::atomic<bool>& done, time_point until);
bool all_come_by_themselves(const future_parents& parents) noexcept;

/// The state of a future made from other futures: ready when `complete` was called.
template <class T>
class combined_state final : public future_state<T> {
 public:
  using parents = future_parents;

  explicit combined_state(parents from) : parents_(std::move(from)) {}

  void complete() noexcept {
    this->set_ready();
    this->run_continuations();
  }

  bool wait_until(time_point until) override {
    return wait_for_parents(*this, parents_, this->ready_flag(), until);
  }
  bool comes_by_itself() const noexcept override { return all_come_by_themselves(parents_); }

  bool cancel() override {
    bool any = false;
    for (const auto& parent : parents_) any = parent->cancel() || any;
    return any;
  }

 private:
  parents parents_;
};

}  // namespace cppless::detail

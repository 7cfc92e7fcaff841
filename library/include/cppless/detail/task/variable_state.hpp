// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <cppless/detail/wire/buffer.hpp>

namespace cppless::detail {

/// The bits of a shared variable's value.
using variable_bits = std::uint64_t;
using variable_cell = std::atomic<variable_bits>;
/// What an update makes of a value: `merge(value, update)`. Called any number of times.
using variable_merge = variable_bits (*)(variable_bits value, variable_bits update);

/// What `merge` makes of `cell`'s value, in one step.
void merge_into(variable_cell& cell, variable_merge merge, variable_bits update) noexcept;

/// Updates of one task that count once it has succeeded, and then once.
class update_log {
 public:
  struct update {
    std::uint64_t variable;
    variable_bits value;
  };

  bool empty() const noexcept { return updates_.empty(); }
  const update* find(std::uint64_t variable) const noexcept;
  void add(std::uint64_t variable, variable_merge combine, variable_bits value);

  /// Appends them to a result.
  void write(sink& to) const;

  /// Does them, in the process where the variables are at home.
  void apply() const;

 private:
  std::vector<update> updates_;
};

/// Does the updates that stand at the end of `result`. Returns how many bytes they take; throws
/// `rejected` if they are malformed. Those of variables that are gone are dropped.
std::size_t apply_updates(std::span<const std::byte> result);

/// While a task runs on this thread, or fiber: where its updates go.
class update_scope {
 public:
  update_scope() noexcept : outer_(std::exchange(current_, this)) {}
  update_scope(const update_scope&) = delete;
  update_scope& operator=(const update_scope&) = delete;
  ~update_scope() {
    if (!is_of_fiber_) current_ = outer_;
  }

  /// Of a fiber, which may go from thread to thread: it is found by the task that the fiber runs.
  struct of_fiber {};
  explicit update_scope(of_fiber) noexcept : outer_(nullptr), is_of_fiber_(true) {}

  update_log log;

  /// Of the task that runs here, or nullptr.
  static update_scope* current() noexcept;

 private:
  static inline constinit thread_local update_scope* current_ = nullptr;

  update_scope* outer_;
  bool is_of_fiber_ = false;
};

/// A shared variable in the process where it was made. Thread-safe.
class variable_home {
 public:
  /// `is_repeatable`: doing an update twice is doing it once.
  variable_home(variable_bits initial, variable_merge merge, bool is_repeatable);
  variable_home(const variable_home&) = delete;
  variable_home& operator=(const variable_home&) = delete;
  ~variable_home();

  variable_bits value() const;
  void update(variable_bits with);

  /// Has workers see it at `cell` too, for as long as `keeper` lives.
  void show_at(variable_cell& cell, std::weak_ptr<void> keeper);

  /// What a cell held at last.
  void take_in(variable_bits last);

  const std::uint64_t id;

 private:
  struct shown {
    variable_cell* cell;
    std::weak_ptr<void> keeper;
  };

  variable_bits merged_value() const;

  const variable_merge merge_;
  const bool is_repeatable_;
  variable_cell value_;
  mutable std::mutex mutex_;
  std::vector<shown> shown_;
};

/// A shared variable where a task sees it.
struct variable_view {
  static constexpr std::uint32_t no_cell = 0;

  std::uint64_t id = 0;
  variable_bits sent = 0;         ///< Its value when the task was dispatched.
  variable_cell* cell = nullptr;  ///< Its value now, where the worker can see that.
  std::uint32_t cell_number = no_cell;
};

/// The cells that this process shares with its host, for the rest of the process; set before the
/// first task.
void install_variable_cells(std::span<variable_cell> cells) noexcept;

void write_variable(sink& to, const std::shared_ptr<variable_home>& home);
void write_variable(sink& to, const variable_view& view);
variable_view read_variable(source& from);

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/variable_state.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <unordered_map>

#include <cppless/detail/task/instance_core.hpp>
#include <cppless/detail/task/shared_bytes.hpp>
#include <cppless/errors.hpp>

#include "task/fiber_waits.hpp"

namespace cppless::detail {
namespace {

constinit std::span<variable_cell> installed_cells;

// The variables whose home is this process.
struct homes {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, variable_home*> by_id;
  // Ids of another process must not be taken for one of ours.
  std::uint64_t next_id = (std::uint64_t{std::random_device{}()} << 32) | 1;

  static homes& get() {
    static homes all;
    return all;
  }
};

std::uint64_t new_id() {
  homes& all = homes::get();
  const std::lock_guard lock(all.mutex);
  return all.next_id++;
}

void apply(const update_log::update& each) {
  homes& all = homes::get();
  const std::lock_guard lock(all.mutex);  // so that it is not destroyed meanwhile
  const auto found = all.by_id.find(each.variable);
  if (found != all.by_id.end()) found->second->update(each.value);
}

void write(sink& to, std::uint64_t id, variable_bits value, std::uint32_t cell) {
  to.write(&id, sizeof id);
  to.write(&value, sizeof value);
  to.write(&cell, sizeof cell);
}

}  // namespace

void merge_into(variable_cell& cell, variable_merge merge, variable_bits update) noexcept {
  variable_bits seen = cell.load(std::memory_order_relaxed);
  variable_bits merged = merge(seen, update);
  while (merged != seen && !cell.compare_exchange_weak(seen, merged, std::memory_order_relaxed)) {
    merged = merge(seen, update);
  }
}

const update_log::update* update_log::find(std::uint64_t variable) const noexcept {
  const auto found = std::find_if(updates_.begin(), updates_.end(),
                                  [&](const update& each) { return each.variable == variable; });
  return found == updates_.end() ? nullptr : &*found;
}

void update_log::add(std::uint64_t variable, variable_merge combine, variable_bits value) {
  if (const update* const known = find(variable)) {
    auto& own = updates_[static_cast<std::size_t>(known - updates_.data())].value;
    own = combine(own, value);
  } else {
    updates_.push_back({variable, value});
  }
}

update_scope* update_scope::current() noexcept {
  const fiber_waits* const fibers = fiber_waits::of_caller();
  return fibers != nullptr ? fibers->updates_of_caller() : current_;
}

void update_log::write(sink& to) const {
  for (const update& each : updates_) to.write(&each, sizeof each);
  const auto count = static_cast<std::uint32_t>(updates_.size());
  to.write(&count, sizeof count);
}

void update_log::apply() const {
  for (const update& each : updates_) detail::apply(each);
}

std::size_t apply_updates(std::span<const std::byte> result) {
  std::uint32_t count = 0;
  if (result.size() < sizeof count) throw rejected("a result ends within its updates");
  result = result.first(result.size() - sizeof count);
  std::memcpy(&count, result.data() + result.size(), sizeof count);
  if (count > result.size() / sizeof(update_log::update)) {
    throw rejected("a result of " + std::to_string(result.size()) + " bytes cannot hold " +
                   std::to_string(count) + " updates");
  }
  const std::size_t size = count * sizeof(update_log::update);
  for (std::size_t at = result.size() - size; at != result.size();
       at += sizeof(update_log::update)) {
    update_log::update each;
    std::memcpy(&each, result.data() + at, sizeof each);
    apply(each);
  }
  return size + sizeof count;
}

variable_home::variable_home(variable_bits initial, variable_merge merge, bool is_repeatable)
    : id(new_id()), merge_(merge), is_repeatable_(is_repeatable), value_(initial) {
  homes& all = homes::get();
  const std::lock_guard lock(all.mutex);
  all.by_id.emplace(id, this);
}

variable_home::~variable_home() {
  homes& all = homes::get();
  const std::lock_guard lock(all.mutex);
  all.by_id.erase(id);
}

variable_bits variable_home::value() const {
  if (!is_repeatable_) return value_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return merged_value();
}

variable_bits variable_home::merged_value() const {
  variable_bits value = value_.load(std::memory_order_relaxed);
  if (!is_repeatable_) return value;
  for (const shown& each : shown_) {
    if (const auto kept = each.keeper.lock()) {
      value = merge_(value, each.cell->load(std::memory_order_relaxed));
    }
  }
  return value;
}

void variable_home::update(variable_bits with) {
  const std::lock_guard lock(mutex_);
  merge_into(value_, merge_, with);
  for (const shown& each : shown_) {
    if (const auto kept = each.keeper.lock()) merge_into(*each.cell, merge_, with);
  }
}

void variable_home::show_at(variable_cell& cell, std::weak_ptr<void> keeper) {
  const std::lock_guard lock(mutex_);
  std::erase_if(shown_, [](const shown& each) { return each.keeper.expired(); });
  cell.store(merged_value(), std::memory_order_relaxed);
  shown_.push_back({&cell, std::move(keeper)});
}

void variable_home::take_in(variable_bits last) {
  if (is_repeatable_) merge_into(value_, merge_, last);
}

void install_variable_cells(std::span<variable_cell> cells) noexcept { installed_cells = cells; }

void write_variable(sink& to, const std::shared_ptr<variable_home>& home) {
  write(to, home->id, home->value(), sharing_scope::show(home));
}

void write_variable(sink& to, const variable_view& view) {
  if (view.cell != nullptr) return write(to, view.id, view.sent, view.cell_number);
  homes& all = homes::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_id.find(view.id);  // a task run in place
  if (found == all.by_id.end()) {
    throw rejected("this task cannot pass a shared variable on to tasks of its own: it does not run "
                   "on the machine where the variable is");
  }
  write(to, view.id, found->second->value(), variable_view::no_cell);
}

variable_view read_variable(source& from) {
  variable_view view;
  from.read(&view.id, sizeof view.id);
  from.read(&view.sent, sizeof view.sent);
  from.read(&view.cell_number, sizeof view.cell_number);
  if (view.cell_number == variable_view::no_cell || installed_cells.empty()) return view;
  if (view.cell_number > installed_cells.size()) {
    reject_value("the place of a shared variable", view.cell_number, installed_cells.size());
  }
  view.cell = &installed_cells[view.cell_number - 1];
  return view;
}

}  // namespace cppless::detail

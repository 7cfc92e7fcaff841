// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/task/entry.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace cppless::detail {
namespace {

// Head of the registrations. Filled during static initialisation, so it must be constant-initialised.
constinit std::atomic<entry_registration*> registrations{nullptr};

std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a
  for (const char character : text) {
    value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  }
  value ^= value >> 32;
  return value == 0 ? 1 : value;
}

std::string setting(const char* name, std::uint64_t value) {
  return value == 0 ? "" : std::string(" ") + name + "=" + std::to_string(value);
}

}  // namespace

struct entry_table {
  std::unordered_map<std::uint64_t, const entry*> by_identity;
  const entry_registration* newest = nullptr;
  std::mutex mutex;

  static entry_table& get() {
    static entry_table table;
    return table;
  }

  // Reads the registrations again if a shared object was loaded since.
  void refresh() {
    const entry_registration* head = registrations.load(std::memory_order_acquire);
    if (head == newest) return;
    for (auto at = head; at != nullptr; at = at->next_) {
      for (auto node = at->first_; node != at->last_; ++node) add(**node);
    }
    newest = head;
  }

  void add(const entry& added) {
    const auto [place, is_new] = by_identity.try_emplace(added.identity(), &added);
    if (is_new || place->second->run == added.run) return;
    std::fprintf(stderr,
                 "cppless: two different tasks have the same identity %016llx:\n  %s\n  %s\n"
                 "Give one of them another name, enclosing function or file.\n",
                 static_cast<unsigned long long>(added.identity()),
                 place->second->full_name().c_str(), added.full_name().c_str());
    std::abort();
  }
};

entry_registration::entry_registration(const entry* const* first,
                                       const entry* const* last) noexcept
    : first_(first), last_(last), next_(registrations.load(std::memory_order_relaxed)) {
  if (first == last) return;
  while (!registrations.compare_exchange_weak(next_, this, std::memory_order_release)) {
  }
}

std::string entry::full_name() const {
  return task_name.text() + setting("memory", limits.memory_bytes) + setting("timeout", limits.timeout_ns) +
         setting("deadline", limits.deadline_ns) + setting("attempts", limits.attempts) +
         setting("ephemeral_storage", limits.ephemeral_storage_bytes);
}

std::string entry::root_symbol() const {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash(task_name.text())));
  return std::string("cppless_task_") + digits;
}

std::uint64_t entry::compute_identity() const {
  const std::uint64_t identity = hash(full_name());
  identity_cache.store(identity, std::memory_order_relaxed);
  return identity;
}

const entry* find_entry(std::uint64_t identity) {
  entry_table& table = entry_table::get();
  const std::lock_guard lock(table.mutex);
  table.refresh();
  const auto found = table.by_identity.find(identity);
  return found == table.by_identity.end() ? nullptr : found->second;
}

std::vector<const entry*> all_entries() {
  entry_table& table = entry_table::get();
  const std::lock_guard lock(table.mutex);
  table.refresh();
  std::vector<const entry*> all;
  all.reserve(table.by_identity.size());
  for (const auto& [identity, found] : table.by_identity) all.push_back(found);
  std::sort(all.begin(), all.end(),
            [](const entry* a, const entry* b) { return a->identity() < b->identity(); });
  return all;
}

void check_entries_are_distinct() { find_entry(0); }

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <cppless/config.hpp>
#include <cppless/detail/task/stable_name.hpp>
#include <cppless/detail/wire/buffer.hpp>

namespace cppless::detail {

/// One function that a worker can be asked for: a callable, its argument types and configuration.
struct entry {
  void (*run)(source& payload, sink& result);
  void (*encode_state)(sink& to, const void* callable);  ///< Null for a callable without state.
  constant_name callable_name;
  constant_name task_name;  ///< Of callable, argument types and configuration.
  task_limits limits;
  mutable std::atomic<std::uint64_t> identity_cache{0};
  std::uint32_t movable_state = 0;  ///< The parts of the state that are not constant, a bit each.

  /// Hash of callable, arguments and configuration; never 0. What travels between processes.
  std::uint64_t identity() const {
    const std::uint64_t known = identity_cache.load(std::memory_order_relaxed);
    return known != 0 ? known : compute_identity();
  }

  /// For people: the callable's name.
  const char* name() const { return callable_name.text(); }

  /// The text that `identity` hashes.
  std::string full_name() const;

  /// The symbol by which this task can be linked into an executable of its own
  /// (plugin/task_root.hpp). Objects compiled without the plugin have none.
  std::string root_symbol() const;

 private:
  std::uint64_t compute_identity() const;
};

/// The entry of that identity in this image, or nullptr. Thread-safe.
const entry* find_entry(std::uint64_t identity);

/// All entries of this image, by identity. Thread-safe.
std::vector<const entry*> all_entries();

/// Ends the process with a message if two different entries of this image have one identity.
void check_entries_are_distinct();

/// Adds entries to the image's table; objects of static storage duration only.
class entry_registration {
 public:
  entry_registration(const entry* const* first, const entry* const* last) noexcept;

 private:
  friend struct entry_table;
  const entry* const* first_;
  const entry* const* last_;
  entry_registration* next_;
};

#if defined(__clang__)
// Clang puts static members of templates into a named section: all entries of an executable or
// shared object are found between the section's ends, and one registration each is enough. Not
// retained: with -z nostart-stop-gc --gc-sections keeps all, with -z start-stop-gc none, and the
// executable of one task is made by its root symbol.
#define CPPLESS_ENTRY_NODE [[gnu::section("cppless_entries"), gnu::used]] constinit
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const entry* const __start_cppless_entries[];
[[gnu::weak, gnu::visibility("hidden")]] extern const entry* const __stop_cppless_entries[];
}
[[gnu::visibility("hidden"), gnu::used]] inline const entry_registration entries_of_this_image{
    __start_cppless_entries, __stop_cppless_entries};
#else
// GCC ignores section attributes on static members of templates: each entry registers itself.
#define CPPLESS_ENTRY_NODE constinit
#endif

}  // namespace cppless::detail

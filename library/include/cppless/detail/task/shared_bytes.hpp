// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cppless/bytes.hpp>
#include <cppless/detail/wire/buffer.hpp>
#include <cppless/detail/wire/luggage.hpp>

namespace cppless::detail {

struct entry;
class instance_core;
class variable_home;

/// Hash of a shared value's bytes, by which it is known everywhere.
using content_key = std::array<std::uint8_t, 16>;

/// The encoding of a shared value, the same for all its handles.
struct shared_bytes {
  explicit shared_bytes(bytes encoded);

  const bytes data;
  const content_key key;
};

using shared_uses = std::vector<std::shared_ptr<const shared_bytes>>;

/// Where a transport has put a shared value for those it sends tasks to.
struct shared_place {
  std::uint64_t offset = 0;
  /// What keeps it there: a value of the same content, perhaps not the one that was asked for.
  std::shared_ptr<const shared_bytes> kept_by;
};

/// What a task refers to without holding it, and what must live until it has ended.
struct shared_things {
  shared_uses values;  ///< Each content once.
  std::vector<std::shared_ptr<variable_home>> variables;
  std::vector<std::shared_ptr<const void>> others;
  luggage beside;  ///< What did not become bytes.
};

/// Has a task keep what `more` holds, which may be null, as well; each content once.
void keep_too(std::unique_ptr<shared_things>& to, const std::shared_ptr<const shared_things>& more);

/// Which of a call's values may be moved from: the callable's (bit 0), each argument's (from bit 1).
using movable_values = std::uint32_t;

/// While a task is encoded on this thread: which transport it is for, and where what it refers to is
/// noted.
class sharing_scope {
 public:
  sharing_scope(instance_core& on, const entry& what, movable_values movable,
                std::unique_ptr<shared_things>& uses) noexcept
      : on_(on),
        what_(&what),
        movable_(movable),
        uses_(uses),
        outer_(std::exchange(current_, this)) {}
  /// Where all values have to become bytes.
  sharing_scope(instance_core& on, std::unique_ptr<shared_things>& uses) noexcept
      : on_(on), uses_(uses), outer_(std::exchange(current_, this)) {}
  sharing_scope(const sharing_scope&) = delete;
  sharing_scope& operator=(const sharing_scope&) = delete;
  ~sharing_scope() { current_ = outer_; }

  /// The number of the cell where workers see the variable; 0 if there is none.
  static std::uint32_t show(const std::shared_ptr<variable_home>& variable);

  /// For values that the transport takes as they are; null if it takes none, or none is encoded here.
  static luggage* beside();

  /// What is encoded from here on are the arguments, and no longer the callable.
  void arguments_follow() noexcept { movable_ >>= 1; are_arguments_ = true; }

  /// Keeps something of this machine for the task. Throws `rejected` where tasks run on others.
  static void keep(std::shared_ptr<void> kept);

 private:
  friend void write_shared(sink& to, const std::shared_ptr<const shared_bytes>& value);

  static inline constinit thread_local sharing_scope* current_ = nullptr;

  shared_things& uses() {
    if (uses_ == nullptr) uses_ = std::make_unique<shared_things>();
    return *uses_;
  }

  instance_core& on_;
  const entry* what_ = nullptr;
  movable_values movable_ = 0;
  bool are_arguments_ = false;
  std::unique_ptr<shared_things>& uses_;  // made when first needed: most tasks have none
  sharing_scope* outer_;
};

/// Writes the value's name and where it lies; where its transport has no such place, or there is
/// none, the value itself. docs/formats/values.md
void write_shared(sink& to, const std::shared_ptr<const shared_bytes>& value);

/// What `write_shared` writes, without the bytes that may follow it.
struct shared_reference {
  enum class kind : std::uint8_t { in_line = 0, placed = 1 };

  kind what = kind::in_line;
  content_key key{};
  std::uint64_t size = 0;
  std::uint64_t offset = 0;

  static shared_reference read(source& from);

  /// Passes over the value if it follows.
  void skip(source& from) const;

  /// The value's bytes, valid as long as `storage` or what the transport keeps. Throws `rejected` if
  /// they are not there.
  std::span<const std::byte> locate(source& from, bytes& storage) const;
};

/// Makes the value one that tasks of this process find by its name, as long as what is returned
/// lives: that value, or another of the same content. Thread-safe.
std::shared_ptr<const shared_bytes> place_in_process(
    const std::shared_ptr<const shared_bytes>& value);

/// Where a process that runs tasks finds the shared values that these only name.
class shared_directory {
 public:
  /// Throws `rejected` if it is not there.
  virtual std::span<const std::byte> find(const content_key& key, std::uint64_t offset,
                                          std::uint64_t size) = 0;

  /// For the rest of the process; set before the first task.
  static void install(shared_directory& found) noexcept { installed_ = &found; }

 protected:
  ~shared_directory() = default;

 private:
  friend struct shared_reference;
  static inline constinit shared_directory* installed_ = nullptr;
};

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/bytes.hpp>
#include <cppless/errors.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <typeinfo>

/// Where encoded bytes go (`sink`) and come from (`source`). Neither is thread-safe.

namespace cppless::detail {

class luggage;

/// How deep values may nest: not in levels, whose cost differs a hundredfold, but in the stack that
/// walking them takes. Data from outside can thus never overflow a stack of a usual size.
class nesting_limit {
 public:
  static constexpr std::size_t default_stack = std::size_t{1} << 20;

  /// At most `bytes` more stack, counted from the caller's frame.
  void start(std::size_t bytes = default_stack) noexcept {
    top_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    limit_ = bytes;
    if (stack_left* const ask = ask_.load(std::memory_order_relaxed)) [[unlikely]] {
      limit_ = std::min(limit_, ask());
    }
  }

  /// Asked for how much more stack there may be, where stacks are smaller than usual.
  using stack_left = std::size_t() noexcept;
  static void ask(stack_left* about) noexcept { ask_.store(about, std::memory_order_relaxed); }

  /// Throws `rejected` when the frames between `start()` and here are larger than the limit.
  void check() const {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (top_ > here && top_ - here > limit_) [[unlikely]] too_deep(top_ - here);
  }

 private:
  [[noreturn]] void too_deep(std::size_t used) const;

  static inline constinit std::atomic<stack_left*> ask_{nullptr};

  std::uintptr_t top_ = 0;
  std::size_t limit_ = 0;
};

/// A growing run of bytes at a place that the subclass chooses: the heap, the stack, shared memory.
/// Writing costs one comparison and a copy; `grow` is called when the room is used up.
class sink {
 public:
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

  /// Appends `n` bytes.
  void write(const void* from, std::size_t n) {
    if (n > static_cast<std::size_t>(end_ - cur_)) [[unlikely]] {
      write_beyond(static_cast<const std::byte*>(from), n);
    } else if (n != 0) {
      std::memcpy(cur_, from, n);
      cur_ += n;
    }
  }

  /// Appends `n` bytes with unspecified values and returns their place, which is valid until the
  /// next write.
  std::byte* reserve(std::size_t n) {
    make_room(n);
    std::byte* place = cur_;
    cur_ += n;
    return place;
  }

  /// Makes room for `n` bytes that are about to be written: in one step instead of several.
  void make_room(std::size_t n) {
    if (n > static_cast<std::size_t>(end_ - cur_)) [[unlikely]] grow(n);
  }

  std::size_t size() const noexcept { return static_cast<std::size_t>(cur_ - begin_); }
  std::byte* data() noexcept { return begin_; }
  const std::byte* data() const noexcept { return begin_; }

  /// Forgets all bytes from `size` on, e.g. what was written before an encoding failed.
  void truncate(std::size_t size) noexcept { cur_ = begin_ + size; }

  /// What values that need not become bytes go into; null where all must.
  virtual luggage* beside() noexcept { return nullptr; }

  nesting_limit& nesting() noexcept { return nesting_; }

 protected:
  sink() noexcept = default;
  sink(std::byte* begin, std::size_t capacity) noexcept
      : begin_(begin), cur_(begin), end_(begin + capacity) {}
  ~sink() = default;

  /// Makes room for at least `more` bytes behind `cur_`: sets all three pointers so that the bytes
  /// in [begin_, cur_) are kept. Throws if it cannot.
  virtual void grow(std::size_t more) = 0;

  /// Appends more bytes than there is room for. A sink that passes its bytes on may do so without
  /// copying these; it then need not keep those in [begin_, cur_) when it grows either, and data(),
  /// size() and truncate() mean nothing for it.
  virtual void write_beyond(const std::byte* from, std::size_t n);

  std::byte* begin_ = nullptr;
  std::byte* cur_ = nullptr;
  std::byte* end_ = nullptr;

 private:
  nesting_limit nesting_;
};

/// A sink on the heap.
class heap_sink final : public sink {
 public:
  heap_sink() noexcept = default;
  explicit heap_sink(std::size_t capacity);
  ~heap_sink();

  /// The bytes written so far; the sink is empty afterwards.
  bytes release();

  /// Empties the sink but keeps its memory.
  void clear() noexcept { cur_ = begin_; }

 private:
  void grow(std::size_t more) override;
};

/// Counts bytes and forgets them.
class counting_sink final : public sink {
 public:
  counting_sink() : sink(own_, sizeof own_) {}
  ~counting_sink() = default;

  std::size_t count() const noexcept { return passed_ + size(); }

 private:
  void grow(std::size_t more) override;
  void write_beyond(const std::byte*, std::size_t n) override { passed_ += n; }

  std::size_t passed_ = 0;
  bytes large_;
  std::byte own_[1024];
};

/// A sink that starts in `N` bytes of its own (on the stack, say) and moves to the heap beyond.
template <std::size_t N>
class small_sink : public sink {
 public:
  small_sink() noexcept : sink(own_, N) {}
  ~small_sink() = default;

 private:
  void grow(std::size_t more) override {
    const std::size_t used = size();
    bytes larger(2 * (used + more));
    if (used != 0) std::memcpy(larger.data(), begin_, used);
    heap_ = std::move(larger);
    begin_ = heap_.data();
    cur_ = begin_ + used;
    end_ = begin_ + heap_.size();
  }

  bytes heap_;
  alignas(16) std::byte own_[N];
};

/// Reads bytes that somebody else wrote and that may be malformed: every length is compared with
/// what is left before anything is allocated or read. Does not own the bytes.
///
/// The bytes need not all be in memory: a subclass may show them through a window that it moves on.
class source {
 public:
  source(const void* data, std::size_t size) noexcept
      : cur_(static_cast<const std::byte*>(data)), end_(cur_ + size), total_(size) {}
  explicit source(std::span<const std::byte> data) noexcept : source(data.data(), data.size()) {}
  source(const source&) = delete;
  source& operator=(const source&) = delete;
  ~source() = default;

  std::size_t remaining() const noexcept { return in_window() + beyond_; }
  std::size_t position() const noexcept { return total_ - remaining(); }

  /// How many of the remaining bytes `take` can return without further ado.
  std::size_t in_window() const noexcept { return static_cast<std::size_t>(end_ - cur_); }

  /// The next `n` bytes, in place, valid until the next call. Throws `rejected` if fewer are left.
  const std::byte* take(std::size_t n) {
    if (n > in_window()) [[unlikely]] move_window(n);
    const std::byte* place = cur_;
    cur_ += n;
    return place;
  }

  void read(void* to, std::size_t n) {
    if (n > in_window()) [[unlikely]] {
      read_beyond(static_cast<std::byte*>(to), n);
    } else if (n != 0) {
      std::memcpy(to, cur_, n);
      cur_ += n;
    }
  }

  /// Elements that take no bytes could be counted in any number by eight bytes of input, and
  /// elements of unknown size in too large a number: no more than this, or one per byte left.
  static constexpr std::uint64_t free_elements = std::uint64_t{1} << 20;

  /// Throws `rejected` for more elements than there can be if each takes at least `least` bytes.
  void check_count(std::uint64_t n, std::size_t least) const {
    const std::uint64_t most = least != 0 ? remaining() / least
                               : remaining() > free_elements ? remaining() : free_elements;
    if (n > most) [[unlikely]] too_many(n, least, most);
  }

  /// Throws `rejected` unless all bytes were read.
  void finish() const {
    if (remaining() != 0) [[unlikely]] left_over();
  }

  /// Where values are that did not become bytes; null if all did.
  virtual luggage* beside() noexcept { return nullptr; }

  nesting_limit& nesting() noexcept { return nesting_; }

 protected:
  /// All `total` bytes are still beyond the window.
  explicit source(std::size_t total) noexcept : beyond_(total), total_(total) {}
  /// Moves the window on so that it begins with what is left in it and holds at least `n` bytes,
  /// of which there are that many; sets cur_, end_ and beyond_.
  virtual void refill(std::size_t n);

  /// Copies the `n` bytes beyond the window to `to`, or the first of them, and returns how many.
  virtual std::size_t fetch(std::byte* to, std::size_t n);

  const std::byte* cur_ = nullptr;
  const std::byte* end_ = nullptr;
  std::size_t beyond_ = 0;

 private:
  friend class checked_cursor;

  void move_window(std::size_t n);
  void read_beyond(std::byte* to, std::size_t n);
  [[noreturn]] void truncated(std::size_t wanted) const;
  [[noreturn]] void too_many(std::uint64_t n, std::size_t least, std::uint64_t most) const;
  [[noreturn]] void left_over() const;

  std::size_t total_;
  nesting_limit nesting_;
};

/// Reads from a source with its checks, but keeps the place in registers: in the source itself every
/// step of a loop would wait until the step before has stored it.
class checked_cursor {
 public:
  explicit checked_cursor(source& in) noexcept : in_(in), cur_(in.cur_), end_(in.end_) {}
  checked_cursor(const checked_cursor&) = delete;
  checked_cursor& operator=(const checked_cursor&) = delete;

  std::size_t in_window() const noexcept { return static_cast<std::size_t>(end_ - cur_); }
  std::size_t remaining() const noexcept { return in_window() + in_.beyond_; }
  nesting_limit& nesting() noexcept { return in_.nesting(); }

  const std::byte* take(std::size_t n) {
    if (n > in_window()) [[unlikely]] by_source([n](source& in) { in.move_window(n); });
    const std::byte* place = cur_;
    cur_ += n;
    return place;
  }

  void read(void* to, std::size_t n) {
    if (n > in_window()) [[unlikely]] {
      by_source([=](source& in) { in.read_beyond(static_cast<std::byte*>(to), n); });
    } else if (n != 0) {
      std::memcpy(to, cur_, n);
      cur_ += n;
    }
  }

  void check_count(std::uint64_t n, std::size_t least) {
    by_source([=](source& in) { in.check_count(n, least); });
  }

  /// What the source does itself.
  template <class F>
  void by_source(F f) {
    commit();
    f(in_);
    cur_ = in_.cur_;
    end_ = in_.end_;
  }

  /// Moves the source on to this place: not in the destructor, because after an exception the
  /// window may be another.
  void commit() noexcept { in_.cur_ = cur_; }

 private:
  source& in_;
  const std::byte* cur_;
  const std::byte* end_;
};

/// Throws `rejected` for a value that its type cannot have.
[[noreturn]] void reject_value(const char* type, std::uint64_t value, std::uint64_t limit);

/// Throws `rejected` for a pointer to `base` that shall point to a `derived`, which is none.
[[noreturn]] void reject_relation(const std::type_info& base, const std::type_info& derived);

/// Throws `rejected` with `message`.
[[noreturn]] void reject(const char* message);

}  // namespace cppless::detail

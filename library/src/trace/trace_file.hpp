// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.hpp"
#include "trace/trace_clock.hpp"

namespace cppless::detail {

/// A line of the picture: a thread of a process.
struct trace_place {
  std::uint64_t process;
  std::uint64_t thread;
};

/// What one thread has written and the file has not got yet.
struct trace_buffer {
  static constexpr std::size_t capacity = std::size_t{128} << 10;

  std::atomic<bool> is_busy{false};       ///< Somebody writes to it or empties it.
  std::atomic<std::size_t> committed{0};  ///< Bytes of whole events.
  std::atomic<bool> is_free{false};       ///< Its thread has ended.
  std::uint64_t flushed_ns = 0;           ///< When it was emptied last, on the trace's clock.
  trace_buffer* next = nullptr;
  char text[capacity];
};

/// The file that CPPLESS_TRACE names: Chrome's trace events, one a line (docs/formats/trace.md).
///
/// Each thread gathers events in a buffer of its own, which goes to the file when it is full or an
/// event comes half a second after the last one that did, and when the process ends: by exit, abort
/// or a signal that would have ended it anyway. What cannot be written is said once; the program
/// goes on.
class trace_file {
 public:
  /// Opens the file if the environment names one; the first call decides. Also takes the variable
  /// away, so that neither workers nor children of the program write to it.
  static void start() noexcept;

  /// Null if nothing is traced.
  static trace_file* get() noexcept { return current_.load(std::memory_order_acquire); }

  trace_clock& clock() noexcept { return clock_; }
  std::uint64_t process() const noexcept { return process_; }
  unsigned new_instance() noexcept { return ++instances_; }

  /// Gives a process a name.
  void name(std::uint64_t process, std::string_view name) noexcept;

  /// Writes what is left and the closing bracket; takes no more. May be called by a signal handler.
  void finish() noexcept;

 private:
  friend class trace_lines;

  explicit trace_file(std::string path);  // throws `rejected`
  trace_buffer* buffer_of_this_thread();
  bool flush(trace_buffer& buffer) noexcept;
  bool write(std::string_view text) noexcept;
  void write_head();
  void end_with_process() noexcept;

  static std::atomic<trace_file*> current_;
  static trace_file* made_;  ///< The same; also in children made by fork, which trace nothing.

  const std::string path_;
  file_descriptor file_;
  const std::uint64_t process_;
  trace_clock clock_;
  std::atomic<trace_buffer*> buffers_{nullptr};
  std::atomic<unsigned> instances_{0};
  std::atomic<std::uint64_t> tasks_{0};
  std::atomic<bool> is_finished_{false};
  std::atomic<bool> has_failed_{false};
};

/// Events that belong together, in the calling thread's buffer: all of them are written or none.
class trace_lines {
 public:
  explicit trace_lines(trace_file& file);
  trace_lines(const trace_lines&) = delete;
  trace_lines& operator=(const trace_lines&) = delete;
  ~trace_lines();

  /// From `begin` to `end` (ns of the trace's clock) at `place`. Arguments may follow, then `close`.
  trace_lines& span(std::string_view category, std::string_view name, trace_place place,
                    std::uint64_t begin, std::uint64_t end) noexcept;

  /// The same for what overlaps with others of its kind: viewers give each `id` a line of its own.
  void overlapping_span(std::string_view name, std::string_view id, trace_place place,
                        std::uint64_t begin, std::uint64_t end) noexcept;

  /// Says something about `place`: an argument must follow.
  trace_lines& metadata(std::string_view name, trace_place place) noexcept;

  /// An arrow of the picture leads from each span with `out` to the next one of that `id`.
  trace_lines& flow(std::string_view id, bool in, bool out) noexcept;

  trace_lines& argument(std::string_view key, std::uint64_t value) noexcept;
  trace_lines& argument(std::string_view key, std::string_view value) noexcept;
  void close() noexcept;

  /// The events so far are of a task that has ended.
  void count_task() noexcept { ++tasks_; }

 private:
  void put(std::string_view text) noexcept;
  void put_number(std::uint64_t value) noexcept;
  void put_microseconds(std::uint64_t ns) noexcept;
  void put_quoted(std::string_view text) noexcept;
  void put_place(trace_place place, std::uint64_t at) noexcept;
  void begin_argument(std::string_view key) noexcept;

  trace_file& file_;
  trace_buffer* buffer_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::uint64_t latest_ns_ = 0;
  unsigned tasks_ = 0;
  bool has_arguments_ = false;
};

}  // namespace cppless::detail

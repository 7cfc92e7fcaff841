// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace platform::execution {

/// One line for CloudWatch Logs.
struct log_event {
  std::string function;
  std::string stream;
  std::int64_t time_ms;
  std::string text;
};

/// What functions print and what the platform says about their runs: a file per function, written in
/// batches, and `events` for whoever carries them on. Used from the I/O thread.
class function_logs {
 public:
  explicit function_logs(std::filesystem::path directory) : directory_(std::move(directory)) {}
  ~function_logs() { flush(); }

  /// Whole lines, each ending in '\n'.
  void append(const std::string& function, const std::string& stream, std::string_view lines);
  /// Writes what has gathered; called by a timer and at the end.
  void flush();
  bool pending() const { return !gathered_.empty(); }
  std::filesystem::path file(const std::string& function) const { return directory_ / (function + ".log"); }

  bool keep_events = false;
  std::deque<log_event> events;
  std::uint64_t dropped_events = 0;

 private:
  void write(const std::string& function, std::string_view text);
  std::filesystem::path directory_;
  std::map<std::string, std::string> gathered_;
};

/// "2024-01-31T12:00:00.123Z", now.
std::string timestamp();

}  // namespace platform::execution

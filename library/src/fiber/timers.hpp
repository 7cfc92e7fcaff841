// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// Ends waits at their deadlines, from a thread that is started with the first of them and sleeps
/// until the next one. In virtual time (deterministic runs) there is no thread: whoever has nothing
/// else to do calls `fire_earliest`.
class timers {
 public:
  enum class time { real, is_virtual };

  explicit timers(time kind) : kind_(kind) {}
  ~timers();

  struct timer {
    waiter& who;
    bool is_pending = false;
    std::multimap<time_point, timer*>::iterator place = {};
  };
  void add(timer& made, time_point deadline);
  /// After this, its waiter is not touched any more.
  void remove(timer& made) noexcept;

  /// What deadlines are compared with: in virtual time, the latest that has passed.
  time_point now() noexcept;

  /// All that have the earliest deadline. False if there is none.
  bool fire_earliest() noexcept;

 private:
  void run() noexcept;
  void fire_first() noexcept;

  const time kind_;
  std::mutex mutex_;
  std::multimap<time_point, timer*> waiting_;
  std::atomic<std::uint32_t> changes_{0};
  time_point virtual_now_{};
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cppless::fiber::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber {

namespace detail {

/// What does not depend on the function that is called between two phases.
class barrier_core {
 public:
  constexpr explicit barrier_core(std::ptrdiff_t expected) noexcept
      : expected_(expected), left_(expected) {}
  barrier_core(const barrier_core&) = delete;
  barrier_core& operator=(const barrier_core&) = delete;

  /// The phase arrived at. With `is_last` nobody else arrives until the caller calls `finish`.
  std::uint64_t arrive(std::ptrdiff_t update, bool& is_last) noexcept;
  void drop() noexcept;
  void finish() noexcept;
  void wait(std::uint64_t phase) const noexcept;

 private:
  mutable spin_lock lock_;
  mutable wait_queue queue_;
  std::ptrdiff_t expected_;  // in each later phase
  std::ptrdiff_t left_;      // in this one
  std::uint64_t phase_ = 0;
};

struct no_completion {
  void operator()() noexcept {}
};

}  // namespace detail

/// std::barrier for fibers: phases, each of which ends when as many have arrived as are expected.
///
/// Thread safety: as std::barrier, by fibers and plain threads alike. `completion()` is called by
/// who arrives last, before anybody goes on; it must not throw.
template <class CompletionFunction = detail::no_completion>
class barrier {
 public:
  /// From one phase's `arrive` to its `wait`.
  class arrival_token {
   public:
    arrival_token(arrival_token&&) = default;
    arrival_token& operator=(arrival_token&&) = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::ptrdiff_t>::max();
  }

  /// From 0 to `max()`.
  constexpr explicit barrier(std::ptrdiff_t expected,
                             CompletionFunction completion = CompletionFunction())
      : core_(expected), completion_(std::move(completion)) {}

  /// `update` from 1 to what this phase still expects.
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t update = 1) {
    bool is_last = false;
    const std::uint64_t phase = core_.arrive(update, is_last);
    if (is_last) complete();
    return arrival_token(phase);
  }

  void wait(arrival_token&& arrival) const { core_.wait(arrival.phase_); }

  void arrive_and_wait() { wait(arrive()); }

  /// Later phases expect one less, too.
  void arrive_and_drop() {
    core_.drop();
    static_cast<void>(arrive());
  }

 private:
  void complete() noexcept {
    completion_();
    core_.finish();
  }

  detail::barrier_core core_;
  CompletionFunction completion_;
};

}  // namespace cppless::fiber

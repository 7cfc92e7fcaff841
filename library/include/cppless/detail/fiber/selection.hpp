// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <stop_token>

#include <cppless/detail/fiber/waiting.hpp>
#include <cppless/fiber/mutex.hpp>

namespace cppless::fiber::detail {

inline constexpr std::size_t none_selected = std::numeric_limits<std::size_t>::max();

/// One wait for several channels at once. Whoever makes something possible claims it; only the
/// first can, so that what is possible elsewhere is left for others.
class selection {
 public:
  bool claim(std::size_t index) noexcept {
    std::size_t expected = none_selected;
    return chosen_.compare_exchange_strong(expected, index, std::memory_order_acq_rel);
  }
  std::size_t chosen() const noexcept { return chosen_.load(std::memory_order_acquire); }

  waiter who;

 private:
  std::atomic<std::size_t> chosen_{none_selected};
};

/// A selection's place in one queue of one channel.
struct ticket {
  selection* of = nullptr;
  std::size_t index = 0;
  ticket* next = nullptr;
  ticket* previous = nullptr;
  bool is_queued = false;
};

/// Those who wait for one thing of one channel, whose lock protects it.
class ticket_queue {
 public:
  void push_back(ticket& added) noexcept;
  void remove(ticket& left) noexcept;
  /// The one that has waited longest and is still to be had: claimed and taken out, for the caller
  /// to wake when the lock is free. Null if there is none.
  waiter* claim_first() noexcept;

 private:
  ticket* first_ = nullptr;
  ticket* last_ = nullptr;
};

/// Sending to, or receiving from, one channel.
class select_case {
 public:
  select_case() = default;
  select_case(const select_case&) = delete;
  select_case& operator=(const select_case&) = delete;

  /// Does it if it can be done without waiting.
  virtual bool attempt() = 0;
  /// False if it can be done now: then it is not queued.
  virtual bool enlist(ticket& made) = 0;
  virtual void delist(ticket& made) = 0;

 protected:
  ~select_case() = default;
};

/// Does the first of the cases that can be done, waiting until one can. Its index, or
/// `none_selected` if the deadline passed, or a stop was requested, before that.
std::size_t select(std::span<select_case* const> cases, time_point deadline,
                   const std::stop_token& stop);

}  // namespace cppless::fiber::detail

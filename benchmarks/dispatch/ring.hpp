// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Two one-way queues in shared memory, one writer and one reader each, of fixed 64-byte records.
/// Both spin briefly and then sleep on a futex; they differ in what a message costs.
///
/// `tight_ring` is as fast as we know how to make it:
/// - A record is one cache line and carries its own sequence number. A message moves one line from
///   core to core, and neighbouring records are prefetched; no index is shared.
/// - A reader that falls asleep and a writer that publishes need a store-load barrier between them.
///   It is put on the side of the reader about to sleep, by membarrier(2); the writer pays nothing.
///
/// `indexed_ring` is the usual one: shared head and tail, and a fence after each write.
///
/// Neither looks whether it is full: the host never has more than `ring_capacity` in flight.

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace bench {

inline constexpr std::size_t ring_capacity = 1024;
inline constexpr int ring_spins = 2000;

struct message {
  std::uint64_t index;
  std::uint64_t value;
  std::uint64_t payload_bytes;
  std::uint64_t unused[4];
};

/// A flag in shared memory on which the one reader sleeps.
class sleeper {
 public:
  bool asleep() const { return flag_.load(std::memory_order_relaxed) != 0; }
  void wake() {
    flag_.store(0, std::memory_order_relaxed);
    syscall(SYS_futex, &flag_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  /// `barrier` must order the flag before the last look at `ready`, in both processes.
  template <class Barrier, class Ready>
  void sleep_until(Barrier barrier, Ready ready) {
    while (!ready()) {
      flag_.store(1, std::memory_order_relaxed);
      barrier();
      if (!ready()) {
        syscall(SYS_futex, &flag_, FUTEX_WAIT, 1, nullptr, nullptr, 0);
      }
    }
    flag_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> flag_{0};
};

template <class Ready>
bool spin_until(Ready ready) {
  for (int i = 0; i < ring_spins; ++i) {
    if (ready()) [[likely]] {
      return true;
    }
    __builtin_ia32_pause();
  }
  return false;
}

class tight_ring {
 public:
  /// Once in each process, before the first use.
  static void prepare() {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0) {
      throw std::system_error(errno, std::generic_category(), "membarrier register");
    }
  }

  void write(std::uint64_t number, const message& content) {
    record& to = records_[number % ring_capacity];
    to.content = content;
    to.sequence.store(number + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (reader_.asleep()) [[unlikely]] {
      reader_.wake();
    }
  }

  const message& read(std::uint64_t number) {
    const record& from = records_[number % ring_capacity];
    const auto ready = [&] {
      return from.sequence.load(std::memory_order_acquire) == number + 1;
    };
    if (!spin_until(ready)) {
      reader_.sleep_until(
          [] { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }, ready);
    }
    return from.content;
  }

 private:
  struct alignas(64) record {
    std::atomic<std::uint64_t> sequence{0};  // message number n has sequence n + 1
    message content;
  };
  static_assert(sizeof(record) == 64);

  alignas(64) sleeper reader_;
  record records_[ring_capacity];
};

class indexed_ring {
 public:
  static void prepare() {}

  void write(std::uint64_t number, const message& content) {
    records_[number % ring_capacity].content = content;
    head_.store(number + 1, std::memory_order_release);
    fence();
    if (reader_.asleep()) [[unlikely]] {
      reader_.wake();
    }
  }

  const message& read(std::uint64_t number) {
    const auto ready = [&] { return head_.load(std::memory_order_acquire) > number; };
    if (!spin_until(ready)) {
      reader_.sleep_until(fence, ready);
    }
    return records_[number % ring_capacity].content;
  }

 private:
  struct alignas(64) record {
    message content;
  };
  static void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) sleeper reader_;
  record records_[ring_capacity];
};

}  // namespace bench

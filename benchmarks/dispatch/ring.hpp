// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Three one-way queues in shared memory, of fixed 64-byte records. All spin briefly and then sleep
/// on a futex; they differ in what a message costs and in who may use them.
///
/// `shared_ring` is the yardstick: any number of workers take from one request ring and answer into
/// one response ring, which is what a dispatcher with workers needs. Its one reader-side
/// compare-and-swap a request, and one fetch-add an answer, are the least that takes; everything
/// else is as in the tight ring below: sequence numbers in the records, no index that two sides
/// both write, the barrier on the sleeper's side.
///
/// `tight_ring` is as fast as we know how to make it:
/// - A record is one cache line and carries its own sequence number. A message moves one line from
///   core to core, and neighbouring records are prefetched; no index is shared.
/// - A reader that falls asleep and a writer that publishes need a store-load barrier between them.
///   It is put on the side of the reader about to sleep, by membarrier(2); the writer pays nothing.
///
/// `indexed_ring` is the usual one: shared head and tail, and a fence after each write.
///
/// Those two have one writer and one reader only: a ring of them to each worker would have to be fed
/// by a host that guesses which worker is free first, and a task behind a long one would wait.
///
/// None looks whether it is full: the host never has more than `ring_capacity` in flight.

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

/// The same for any number of readers.
class sleepers {
 public:
  bool asleep() const { return count_.load(std::memory_order_relaxed) != 0; }
  void wake() {
    turn_.fetch_add(1, std::memory_order_relaxed);
    syscall(SYS_futex, &turn_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  template <class Barrier, class Ready>
  void sleep_until(Barrier barrier, Ready ready) {
    while (!ready()) {
      const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
      count_.fetch_add(1, std::memory_order_relaxed);
      barrier();
      if (!ready()) {
        syscall(SYS_futex, &turn_, FUTEX_WAIT, turn, nullptr, nullptr, 0);
      }
      count_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<std::uint32_t> count_{0}, turn_{0};
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

class shared_ring {
 public:
  static void prepare() { tight_ring::prepare(); }

  /// Any writer; `number` is ignored: places are handed out.
  void write(std::uint64_t, const message& content) {
    const std::uint64_t number = end_.fetch_add(1, std::memory_order_relaxed);
    record& to = records_[number % ring_capacity];
    to.content = content;
    to.sequence.store(number + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (readers_.asleep()) [[unlikely]] {
      readers_.wake();
    }
  }

  /// Any reader; `number` is ignored. The record is copied: once claimed, its place may be written.
  message read(std::uint64_t) {
    for (;;) {
      std::uint64_t number = 0;
      const auto ready = [&] {
        number = begin_.load(std::memory_order_relaxed);
        return records_[number % ring_capacity].sequence.load(std::memory_order_acquire) ==
               number + 1;
      };
      if (!spin_until(ready)) {
        readers_.sleep_until(
            [] { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }, ready);
      }
      const message content = records_[number % ring_capacity].content;
      if (begin_.compare_exchange_strong(number, number + 1, std::memory_order_acq_rel)) {
        return content;
      }
    }
  }

 private:
  struct alignas(64) record {
    std::atomic<std::uint64_t> sequence{0};
    message content;
  };

  alignas(64) std::atomic<std::uint64_t> begin_{0};  // the readers'
  alignas(64) std::atomic<std::uint64_t> end_{0};    // the writers'
  alignas(64) sleepers readers_;
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

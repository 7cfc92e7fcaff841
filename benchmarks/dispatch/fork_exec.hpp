// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The local dispatcher as the Cppless thesis describes it (section 4.3.1): for each task a new
/// thread of the host, which forks, executes the program made for that task, writes the arguments
/// to its standard input, reads the result from its standard output, and waits for its end.

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>

#include "workload.hpp"

namespace bench {

/// One host thread submits and waits. All children are gone when it is destroyed.
class fork_exec {
 public:
  /// The child program is bench_dispatch_child beside this executable. `bytes` and `answers` must
  /// outlive the object.
  fork_exec(std::span<const std::uint8_t> bytes, answer_sheet& answers);
  ~fork_exec();
  void submit(std::uint64_t index);
  void wait_one();

  /// One task in the calling thread: starts the child and returns its answer.
  std::uint64_t run_child(std::uint64_t index) const;

 private:
  void watch(std::uint64_t index);

  std::span<const std::uint8_t> payload_;
  answer_sheet& answers_;
  std::string child_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0, completed_ = 0;
};

/// Writes or reads all of `size` bytes; throws std::system_error, also at an early end of file.
void write_all(int fd, const void* data, std::size_t size);
void read_all(int fd, void* data, std::size_t size);

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <cppless/detail/fiber/task.hpp>

namespace cppless::fiber::detail {

/// Threads for calls that block: as many as there are such calls at once. Thread-safe.
class helpers {
 public:
  ~helpers();
  void run(task& made);

 private:
  void serve() noexcept;

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<task*> waiting_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cppless::fiber::detail

// SPDX-License-Identifier: Apache-2.0
#include "fiber/helpers.hpp"

#include <cppless/detail/fiber/worker.hpp>

namespace cppless::fiber::detail {

helpers::~helpers() {
  {
    const std::lock_guard hold(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (std::thread& each : threads_) each.join();
}

void helpers::run(task& made) {
  const std::lock_guard hold(mutex_);
  if (idle_ <= waiting_.size()) threads_.emplace_back([this] { serve(); });
  waiting_.push_back(&made);
  more_.notify_one();
}

void helpers::serve() noexcept {
  std::unique_lock hold(mutex_);
  for (;;) {
    if (waiting_.empty()) {
      if (ending_) return;
      ++idle_;
      more_.wait(hold);
      --idle_;
      continue;
    }
    task& next = *waiting_.front();
    waiting_.pop_front();
    hold.unlock();
    run_in_place(next);
    hold.lock();
  }
}

}  // namespace cppless::fiber::detail

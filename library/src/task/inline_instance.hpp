// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cppless/detail/task/instance_core.hpp>

namespace cppless::detail {

/// Runs jobs one after another on the thread that waits for them.
class inline_instance final : public instance_core {
 public:
  ~inline_instance() override { close(); }

  bool cancel(task_id id) override;

 private:
  void send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) override;
  void drive(time_point until) override;
  void interrupt() noexcept override {}
  void shut_down() noexcept override;

  job_list queue_;
  bool has_run_ = false;
};

}  // namespace cppless::detail

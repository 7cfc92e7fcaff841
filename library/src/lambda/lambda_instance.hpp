// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <condition_variable>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include <cppless/detail/task/instance_core.hpp>

#include "http/client.hpp"
#include "lambda/answer_times.hpp"
#include "lambda/endpoint.hpp"
#include "lambda/invocation.hpp"
#include "lambda/invocation_trace.hpp"
#include "lambda/sending_rate.hpp"
#include "lambda/signature.hpp"

namespace cppless::detail {

/// One function as requests name it.
struct lambda_function {
  std::string name;
  std::string path;
  request_signer::kind kind;
  answer_times times;
};

/// The live Lambda dispatcher: one I/O thread that sends invocations and takes answers.
///
/// The dispatching thread encodes a request and hashes it; the I/O thread signs, sends, receives and
/// retries; whoever waits decodes results, or the I/O thread if nobody does. While only a few
/// invocations are under way, whoever waits does the I/O thread's work too (lambda_loop.cpp).
/// Invariants: (1) an invocation is in `all_` until its job was taken out to be settled; (2) what is
/// below `invocations_mutex_` is guarded by it, the rest is the I/O thread's; (3) no job is settled under a lock.
class lambda_instance final : public instance_core {
 public:
  struct options {
    lambda_endpoint endpoint;
    std::string prefix;
    std::string profile;
    std::size_t most_in_flight = 0;
    bool duplicates_stragglers = false;
    http_client::options http;
    aws_credentials credentials;
  };

  explicit lambda_instance(options chosen);
  ~lambda_instance() override;

  bool cancel(task_id id) override;
  bool drives_itself() const noexcept override { return true; }
  std::optional<shared_place> place_shared(
      const std::shared_ptr<const shared_bytes>& value) override;
  bool is_on_this_machine() const noexcept override { return false; }
  unsigned concurrency() const noexcept override {
    return static_cast<unsigned>(std::max<std::size_t>(options_.most_in_flight, 1));
  }

  detached_key detach(const entry& what, const char*, std::span<const std::byte>) override {
    throw rejected(std::string("task ") + what.name() +
                   " cannot be detached on Lambda: AWS keeps no result of an asynchronous invocation "
                   "for anybody to collect; use local_dispatcher, or have a task store its result");
  }

  // lambda_sender.cpp: for invocations, on the I/O thread
  http_request request_of(invocation& of);
  http_request request_of_duplicate(invocation& of);
  void duplicate_answered(invocation& which);
  void duplicate_not_answered() { --in_flight_; }
  void answered(invocation& which);
  void not_answered(invocation& which, const http_failure& why);

 private:
  using time_point = std::chrono::steady_clock::time_point;

  // instance_core
  void send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& core_lock) override;
  void drive(time_point until) override;
  void interrupt() noexcept override;
  void shut_down() noexcept override;

  // lambda_loop.cpp: who runs the loop
  void run();
  void nap(std::unique_lock<std::mutex>& lock);
  void wait_for_finished(time_point until, std::unique_lock<std::mutex>& lock);
  void run_loop_here(time_point until, std::unique_lock<std::mutex>& lock);
  void stop_loop();

  // lambda_instance.cpp: between the threads
  void wake(std::unique_lock<std::mutex>& lock);
  void take_news();
  void refuse(std::unique_ptr<job> refused, const failure& reason);
  void unlink(invocation& removed) noexcept;
  static void settle_with_updates(job& done, source& from);
  job_list settle_all(invocation_queue finished);
  void deliver();

  // lambda_duplicates.cpp: the I/O thread
  void watch_stragglers();
  void duplicate_stragglers();
  void abandon_duplicate(invocation& of);

  // lambda_sender.cpp: the I/O thread
  lambda_function& function_of(const entry& called);
  http_request sign(invocation& of);
  void send_queued();
  bool must_carry(const invocation& next) const;
  void send_with_shared(invocation& which);
  void land(invocation& which);
  void conclude(invocation& which);
  void fail(invocation& which, failure reason);
  void retry(invocation& which, verdict what, failure reason);
  void retry_later(invocation& which);
  bool mend_signature(invocation& which);
  void look_at(invocation& which, std::uint64_t now);
  void look_at_all();
  void look_again_at(std::uint64_t due_ns);
  void drop(invocation& which);
  void renew_credentials();

  options options_;

  // The I/O thread's, or whose who has the loop.
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> loop_goes_on_{
      loop_.get_executor()};
  bool is_driver_done_ = false;  ///< The driver runs the loop no longer.
  std::optional<http_client> client_;
  request_signer signer_;
  std::unordered_map<const entry*, std::unique_ptr<lambda_function>> functions_;
  invocation_queue queue_;     ///< To be sent.
  invocation_queue finished_here_;
  std::size_t in_flight_ = 0;
  std::map<content_key, std::size_t> carried_;  ///< How many answered requests brought a shared value.
  trace_lanes lanes_;
  sending_rate rate_;
  retry_budget budget_;
  std::minstd_rand random_;
  unsigned signature_state_ = 0;  ///< Changes with clock_offset_ and the credentials.
  std::chrono::seconds clock_offset_{0};  ///< To be added to the wall clock before signing.
  boost::asio::steady_timer timer_;
  std::uint64_t timer_at_ns_ = 0;  ///< 0: not set.
  wall_time renew_at_;
  bool is_renewing_ = false;
  bool will_deliver_ = false;
  boost::asio::steady_timer straggler_timer_;
  bool watches_stragglers_ = false;
  std::vector<http_header> headers_;  ///< Of the request that is being made.

  std::mutex invocations_mutex_;  ///< Taken after the core's.
  std::condition_variable driver_wakes_;
  std::condition_variable closing_;
  invocation* all_ = nullptr;
  invocation_queue incoming_;
  std::vector<invocation*> abandoned_;  ///< Without a job.
  invocation_queue finished_;           ///< For the driver.
  std::optional<aws_credentials> new_credentials_;
  bool is_woken_ = false;
  bool is_driven_ = false;
  bool is_interrupted_ = false;
  bool is_closing_ = false;
  enum class loop_holder { nobody, io_thread, driver } loop_holder_ = loop_holder::nobody;
  bool is_loop_wanted_ = false;  ///< By the driver, of the I/O thread.
  std::uint64_t loans_ = 0;      ///< How often a driver took the loop.
  std::condition_variable io_thread_wakes_;
  std::thread thread_;
  std::thread renewer_;
};

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <boost/asio/post.hpp>

#include <algorithm>

#include "lambda/lambda_instance.hpp"

/// Which thread runs the loop. With many invocations under way it is the I/O thread, beside those
/// that dispatch and decode. With a few, what counts is how long one takes, and each step from
/// thread to thread takes longer than all the client's work: then whoever waits runs the loop. It
/// stays nobody's in between, so that the next to wait has it at once; the I/O thread, which naps
/// meanwhile, takes it back soon after nobody has used it.

namespace cppless::detail {
namespace {

constexpr std::uint64_t few_in_flight = 4;
constexpr auto shortest_nap = std::chrono::microseconds(200);
constexpr auto longest_nap = std::chrono::seconds(1);

}  // namespace

void lambda_instance::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "cppless-lambda");
  std::unique_lock lock(invocations_mutex_);
  for (nap(lock); !is_closing_; nap(lock)) {
    loop_holder_ = loop_holder::io_thread;
    loop_.restart();
    lock.unlock();
    loop_.run();
    lock.lock();
    loop_holder_ = loop_holder::nobody;
    is_loop_wanted_ = false;
    driver_wakes_.notify_all();
  }
}

// Returns when the loop is nobody's and was not used for a while.
void lambda_instance::nap(std::unique_lock<std::mutex>& lock) {
  std::chrono::nanoseconds length = shortest_nap;
  std::uint64_t seen = loans_;
  while (!is_closing_) {
    const bool is_told = io_thread_wakes_.wait_for(lock, length) == std::cv_status::no_timeout;
    const bool is_unused = loans_ == seen;
    if (loop_holder_ == loop_holder::nobody && (is_told || is_unused)) return;
    length = is_unused ? std::min<std::chrono::nanoseconds>(2 * length, longest_nap) : shortest_nap;
    seen = loans_;
  }
}

// Until there is something for the driver, or `until`.
void lambda_instance::wait_for_finished(time_point until, std::unique_lock<std::mutex>& lock) {
  const auto is_over = [this] { return !finished_.empty() || is_interrupted_; };
  while (!is_over()) {
    const bool wants_loop = outstanding() <= few_in_flight && !is_closing_;
    if (wants_loop && loop_holder_ == loop_holder::nobody) {
      run_loop_here(until, lock);
    } else {
      if (wants_loop && !is_loop_wanted_) {
        is_loop_wanted_ = true;
        boost::asio::post(loop_, [this] { loop_.stop(); });
      }
      driver_wakes_.wait_until(lock, until);
    }
    if (until != time_point::max() && std::chrono::steady_clock::now() >= until) return;
  }
}

void lambda_instance::run_loop_here(time_point until, std::unique_lock<std::mutex>& lock) {
  loop_holder_ = loop_holder::driver;
  ++loans_;
  is_driver_done_ = false;
  loop_.restart();
  lock.unlock();
  const time_point since = std::chrono::steady_clock::now();
  while (!is_driver_done_ && loop_.run_one_until(until) != 0) {
  }
  // The I/O thread may have dozed off; it must hear of what is dispatched next.
  const bool was_long = std::chrono::steady_clock::now() - since >= shortest_nap;
  lock.lock();
  loop_holder_ = loop_holder::nobody;
  if (was_long) io_thread_wakes_.notify_one();
  if (is_closing_) closing_.notify_all();
}

// For good: afterwards no thread runs it.
void lambda_instance::stop_loop() {
  std::unique_lock lock(invocations_mutex_);
  is_closing_ = true;
  closing_.notify_all();
  io_thread_wakes_.notify_all();
  loop_.stop();
  closing_.wait(lock, [this] { return loop_holder_ != loop_holder::driver; });
  lock.unlock();
  if (thread_.joinable()) thread_.join();
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "lambda/lambda_instance.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <cppless/json_binary_archive.hpp>

#include "base/ticks.hpp"
#include "lambda/credentials.hpp"

namespace cppless::detail {
namespace {

std::size_t json_size(std::size_t bytes) { return (bytes + 2) / 3 * 4 + 2; }

std::string too_large_text(const job& of) {
  const std::size_t bytes = of.payload.size();
  return "the captures and arguments of task " + std::string(of.what.name()) + " take " +
         std::to_string(bytes) + " bytes, " + std::to_string(json_size(bytes)) +
         " as Lambda takes them, which is more than its limit of " + std::to_string(most_payload);
}

}  // namespace

lambda_instance::lambda_instance(options chosen)
    : options_(std::move(chosen)),
      signer_(options_.endpoint.region, "lambda"),
      rate_(options_.most_in_flight),
      random_(std::random_device{}()),
      timer_(loop_) {
  client_.emplace(loop_, options_.endpoint.url.origin, options_.http);
  renew_at_ = renewal_time(options_.credentials, std::chrono::system_clock::now());
  if (trace_number() != 0) name_in_trace(trace_number());
  signer_.use(std::exchange(options_.credentials, {}));
}

lambda_instance::~lambda_instance() { close(); }

void lambda_instance::send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& core_lock) {
  core_lock.unlock();  // a large request takes a while to hash
  if (json_size(sent->payload.size()) > most_payload) {
    const failure reason{error_kind::rejected, too_large_text(*sent)};
    return refuse(std::move(sent), reason);
  }
  auto made = std::make_unique<invocation>(*this, std::move(sent));
  std::unique_lock lock(invocations_mutex_);
  if (is_closing_) {
    lock.unlock();
    return refuse(std::move(made->what), {error_kind::cancelled, "the instance was closed"});
  }
  made->next_of_all = all_;
  if (all_ != nullptr) all_->previous_of_all = made.get();
  all_ = made.get();
  incoming_.push_back(*made.release());
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake(lock);
}

void lambda_instance::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "cppless-lambda");
  const auto guard = boost::asio::make_work_guard(loop_);
  loop_.run();
}

// Has the I/O thread look for news; many of them wake it once. Gives the lock back.
void lambda_instance::wake(std::unique_lock<std::mutex>& lock) {
  const bool was_woken = std::exchange(is_woken_, true);
  lock.unlock();
  if (!was_woken) boost::asio::post(loop_, [this] { take_news(); });
}

void lambda_instance::take_news() {
  invocation_queue incoming;
  std::vector<invocation*> abandoned;
  std::optional<aws_credentials> credentials;
  {
    const std::lock_guard lock(invocations_mutex_);
    is_woken_ = false;
    incoming.append(incoming_);
    abandoned.swap(abandoned_);
    credentials = std::exchange(new_credentials_, std::nullopt);
  }
  if (credentials) {
    is_renewing_ = false;
    renew_at_ = renewal_time(*credentials, std::chrono::system_clock::now());
    signer_.use(std::move(*credentials));
    ++signature_state_;
  }
  for (invocation* at = incoming.first(); at != nullptr; at = at->next) {
    at->due_ns = at->deadline_ns;
    look_again_at(at->due_ns);
  }
  queue_.append(incoming);
  for (invocation* each : abandoned) drop(*each);
  send_queued();
}

void lambda_instance::refuse(std::unique_ptr<job> refused, const failure& reason) {
  settle(*refused, reason);
  job_list settled;
  settled.push_back(std::move(refused));
  publish(std::move(settled), false);
}

void lambda_instance::unlink(invocation& removed) noexcept {
  (removed.previous_of_all != nullptr ? removed.previous_of_all->next_of_all : all_) =
      removed.next_of_all;
  if (removed.next_of_all != nullptr) {
    removed.next_of_all->previous_of_all = removed.previous_of_all;
  }
}

// Decodes results into their places. The invocations are gone afterwards.
job_list lambda_instance::settle_all(invocation_queue finished) {
  tick_clock::get().refine(ticks());  // nobody may have asked it for a tick's length before
  job_list settled;
  while (invocation* const taken = finished.pop_front()) {
    const std::unique_ptr<invocation> each(taken);
    job& done = *each->what;
    execution_statistics& statistics = done.statistics;
    statistics.attempts = each->attempts;
    if (each->sent > done.submitted) {
      statistics.queue =
          std::chrono::nanoseconds(tick_clock::get().to_ns(each->sent - done.submitted));
    }
    if (!each->is_result) {
      if (done.trace != nullptr) [[unlikely]] trace_failed_run(*each, trace_number());
      settle(done, each->reason);
    } else {
      try {
        json_base64_source bytes(each->answer.body);
        const result_head head = result_head::read(bytes);
        statistics.cold = head.is_cold;
        statistics.run = std::chrono::nanoseconds(head.run_ns);
        statistics.peak_memory = head.peak_memory;
        if (done.trace != nullptr) [[unlikely]] trace_run(*each, head, trace_number());
        settle(done, bytes);
      } catch (const error& malformed) {
        settle(done, {error_kind::lost, "the answer to task " + std::string(done.what.name()) +
                                            " is none of a cppless function: " +
                                            malformed.what()});
      }
    }
    settled.push_back(std::move(each->what));
  }
  return settled;
}

// Hands what has ended since the last time to the driver, or settles it if there is none.
void lambda_instance::deliver() {
  will_deliver_ = false;
  invocation_queue to_settle;
  {
    const std::lock_guard lock(invocations_mutex_);
    while (invocation* const each = finished_here_.pop_front()) {
      if (each->what == nullptr) {  // cancelled meanwhile
        std::erase(abandoned_, each);
        delete each;
        continue;
      }
      unlink(*each);
      finished_.push_back(*each);
    }
    if (is_driven_) {
      if (!finished_.empty()) driver_wakes_.notify_one();
      return;
    }
    to_settle.append(finished_);
  }
  if (!to_settle.empty()) publish(settle_all(to_settle), false);
}

void lambda_instance::drive(time_point until) {
  invocation_queue finished;
  {
    std::unique_lock lock(invocations_mutex_);
    is_driven_ = true;
    driver_wakes_.wait_until(lock, until,
                             [this] { return !finished_.empty() || is_interrupted_; });
    is_driven_ = false;
    is_interrupted_ = false;
    finished.append(finished_);
  }
  if (!finished.empty()) publish(settle_all(finished), true);
}

void lambda_instance::interrupt() noexcept {
  const std::lock_guard lock(invocations_mutex_);
  is_interrupted_ = true;
  driver_wakes_.notify_one();
}

bool lambda_instance::cancel(task_id id) {
  std::unique_ptr<job> stopped;
  {
    std::unique_lock lock(invocations_mutex_);
    invocation* at = all_;
    while (at != nullptr && at->id != id) at = at->next_of_all;
    if (at == nullptr) return false;
    stopped = std::move(at->what);
    unlink(*at);
    abandoned_.push_back(at);
    wake(lock);
  }
  refuse(std::move(stopped),
         {error_kind::cancelled, "task " + std::to_string(id) + " was cancelled"});
  return true;
}

void lambda_instance::shut_down() noexcept {
  std::unique_lock lock(invocations_mutex_);
  is_closing_ = true;
  closing_.notify_all();
  lock.unlock();
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  if (renewer_.joinable()) renewer_.join();
  client_.reset();
  lock.lock();
  const failure reason{error_kind::cancelled, "the instance was closed before the task ended"};
  invocation_queue left;
  left.append(finished_);
  while (invocation* const each = finished_here_.pop_front()) {
    if (each->what != nullptr) continue;  // still in all_
    std::erase(abandoned_, each);
    delete each;
  }
  for (invocation* each : abandoned_) delete each;
  abandoned_.clear();
  for (invocation* at = all_; at != nullptr; at = at->next_of_all) {
    at->is_result = false;
    at->reason = reason;
    left.push_back(*at);
  }
  all_ = nullptr;
  lock.unlock();
  publish(settle_all(left), false);
}

}  // namespace cppless::detail

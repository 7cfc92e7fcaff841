// SPDX-License-Identifier: Apache-2.0
#include "lambda/lambda_instance.hpp"

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

std::size_t shared_size(const job& of) {
  std::size_t size = 0;
  if (of.shared == nullptr) return size;
  for (const auto& each : of.shared->values) size += each->data.size();
  return size;
}

// With all shared values: nobody knows beforehand which environment has which.
std::size_t request_size(const job& of) {
  constexpr std::size_t names = 64;
  std::size_t size = json_size(of.payload.size());
  if (of.shared == nullptr) return size;
  for (const auto& each : of.shared->values) size += json_size(each->data.size()) + names;
  return size;
}

std::string too_large_text(const job& of) {
  const std::size_t shared = shared_size(of);
  return "the captures and arguments of task " + std::string(of.what.name()) + " take " +
         std::to_string(of.payload.size()) + " bytes" +
         (shared != 0 ? " and the shared values among them " + std::to_string(shared) : "") + ", " +
         std::to_string(request_size(of)) +
         " as Lambda takes them, which is more than its limit of " + std::to_string(most_payload);
}

}  // namespace

lambda_instance::lambda_instance(options chosen)
    : options_(std::move(chosen)),
      signer_(options_.endpoint.region, "lambda"),
      rate_(options_.most_in_flight),
      random_(std::random_device{}()),
      timer_(loop_),
      straggler_timer_(loop_) {
  client_.emplace(loop_, options_.endpoint.url.origin, options_.http);
  renew_at_ = renewal_time(options_.credentials, std::chrono::system_clock::now());
  if (trace_number() != 0) name_in_trace(trace_number());
  signer_.use(std::exchange(options_.credentials, {}));
}

lambda_instance::~lambda_instance() { close(); }

void lambda_instance::send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& core_lock) {
  core_lock.unlock();  // a large request takes a while to hash
  if (request_size(*sent) > most_payload) {
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

// Environments keep what requests have brought them.
std::optional<shared_place> lambda_instance::place_shared(
    const std::shared_ptr<const shared_bytes>& value) {
  return shared_place{0, value};
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

// The updates of shared variables stand behind the result.
void lambda_instance::settle_with_updates(job& done, source& from) {
  bytes all(from.remaining());
  from.read(all.data(), all.size());
  source result(all.data(), all.size() - apply_updates(all));
  settle(done, result);
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
        if (head.has_updates) {
          settle_with_updates(done, bytes);
        } else {
          settle(done, bytes);
        }
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
      if (!finished_.empty()) {
        is_driver_done_ = true;
        driver_wakes_.notify_one();
      }
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
    wait_for_finished(until, lock);
    is_driven_ = false;
    is_interrupted_ = false;
    finished.append(finished_);
  }
  if (!finished.empty()) publish(settle_all(finished), true);
}

void lambda_instance::interrupt() noexcept {
  const std::lock_guard lock(invocations_mutex_);
  is_interrupted_ = true;
  if (loop_holder_ == loop_holder::driver) {
    boost::asio::post(loop_, [this] { is_driver_done_ = true; });
  }
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
  stop_loop();
  if (renewer_.joinable()) renewer_.join();
  client_.reset();
  std::unique_lock lock(invocations_mutex_);
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

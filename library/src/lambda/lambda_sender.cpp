// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/post.hpp>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/ticks.hpp"
#include "lambda/credentials.hpp"
#include "lambda/function_name.hpp"
#include "lambda/lambda_instance.hpp"

/// What the I/O thread does with invocations.

namespace cppless::detail {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t longest_task_ns = 900 * second;
// Beside the task itself an answer waits for the start of an environment and for the network.
constexpr std::uint64_t answer_margin_ns = 30 * second;

constexpr std::uint64_t first_backoff_ns = 50'000'000;
constexpr std::uint64_t longest_backoff_ns = 2 * second;
constexpr std::uint64_t longest_throttle_ns = 5 * second;
constexpr unsigned most_refusals = 10;
constexpr unsigned most_throttles = 30;

constexpr auto smallest_skew = std::chrono::minutes(2);

std::string seconds_text(std::uint64_t ns) { return std::to_string(ns / second) + " s"; }

std::optional<wall_time> parse_http_date(const std::string& text) {
  std::tm parts{};
  if (text.empty() || ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) {
    return std::nullopt;
  }
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

lambda_function& lambda_instance::function_of(const entry& called) {
  std::unique_ptr<lambda_function>& known = functions_[&called];
  if (known == nullptr) {
    const http_url& url = options_.endpoint.url;
    std::string name = function_name(options_.prefix, called.identity());
    std::string path = url.path.ends_with('/') ? url.path : url.path + '/';
    path += "2015-03-31/functions/" + name + "/invocations";
    request_signer::kind kind("POST", path,
                              {{"host", url.origin.authority()},
                               {"content-type", "application/json"},
                               {"x-amz-invocation-type", "RequestResponse"}});
    known = std::make_unique<lambda_function>(
        lambda_function{std::move(name), std::move(path), std::move(kind), {}});
  }
  return *known;
}

void lambda_instance::send_queued() {
  if (queue_.empty()) return;
  if (renew_at_ <= std::chrono::system_clock::now()) renew_credentials();
  const std::uint64_t now = now_ns();
  rate_.pass(now);
  while (!queue_.empty() && in_flight_ < rate_.limit()) {
    invocation& next = *queue_.pop_front();
    if (must_carry(next)) next.carry_shared();
    if (next.function == nullptr) next.function = &function_of(next.called);
    const std::uint64_t task_ns =
        next.limits.timeout_ns != 0 ? next.limits.timeout_ns : longest_task_ns;
    next.due_ns = now + task_ns + answer_margin_ns;
    if (next.deadline_ns != 0) next.due_ns = std::min(next.due_ns, next.deadline_ns);
    look_again_at(next.due_ns);
    next.at = invocation::phase::in_flight;
    ++in_flight_;
    if (trace_number() != 0) [[unlikely]] next.lane = lanes_.take();
    client_->submit(next);
  }
  if (!queue_.empty() && rate_.is_reduced()) look_again_at(now + rate_.growth_interval_ns);
  if (options_.duplicates_stragglers) watch_stragglers();
}

http_request lambda_instance::request_of(invocation& of) {
  of.answer.clear();
  of.sent = ticks();
  of.number = rate_.sent();
  of.signature_state = signature_state_;
  return sign(of);
}

http_request lambda_instance::sign(invocation& of) {
  signer_.set_time(std::chrono::system_clock::now() + clock_offset_);
  const std::string_view authorization = signer_.sign(of.function->kind, of.body_hash);
  headers_.clear();
  headers_.push_back({"content-type", "application/json"});
  headers_.push_back({"x-amz-invocation-type", "RequestResponse"});
  headers_.push_back({"x-amz-date", signer_.date()});
  if (const std::string& token = signer_.credentials().session_token; !token.empty()) {
    headers_.push_back({"x-amz-security-token", token});
  }
  headers_.push_back({"authorization", authorization, true});
  return {"POST", of.function->path, headers_, of.body};
}

// It is no longer under way, however that came.
void lambda_instance::land(invocation& which) {
  --in_flight_;
  abandon_duplicate(which);
  if (trace_number() == 0) [[likely]] return;
  which.answered = ticks();
  lanes_.give_back(which.lane);
}

void lambda_instance::answered(invocation& which) {
  land(which);
  judgement judged = judge(which.answer, which.called, which.limits, which.function->name);
  switch (judged.what) {
    case verdict::result:
      ++which.attempts;
      which.is_result = true;
      which.function->times.add(tick_clock::get().to_ns(ticks() - which.sent));
      rate_.succeeded();
      budget_.earn();
      if (which.carries_shared) {
        for (const auto& each : which.shared) ++carried_[each->key];
      }
      conclude(which);
      break;
    case verdict::unshared: send_with_shared(which); break;
    case verdict::failed:
      ++which.attempts;
      fail(which, std::move(judged.reason));
      break;
    case verdict::forbidden:
      if (mend_signature(which)) {
        retry_later(which);
      } else {
        fail(which, std::move(judged.reason));
      }
      break;
    default: retry(which, judged.what, std::move(judged.reason));
  }
  send_queued();
}

void lambda_instance::not_answered(invocation& which, const http_failure& why) {
  land(which);
  const std::string task = std::string("task ") + which.called.name();
  switch (why.what) {
    case http_failure::kind::untrusted:
      fail(which, {error_kind::rejected,
                   why.message + ". AWS_CA_BUNDLE names a file with the authority to trust"});
      break;
    case http_failure::kind::unreachable:
      retry(which, verdict::unavailable, {error_kind::lost, task + " was not sent: " + why.message});
      break;
    case http_failure::kind::lost:
    case http_failure::kind::malformed:
      retry(which, verdict::lost, {error_kind::lost, task + " was lost: " + why.message});
  }
  send_queued();
}

// Tries again, or gives up for the reason given.
void lambda_instance::retry(invocation& which, verdict what, failure reason) {
  if (trace_number() != 0) [[unlikely]] {
    const std::lock_guard lock(invocations_mutex_);
    if (which.what != nullptr) trace_lost_try(which, reason, trace_number());
  }
  if (what == verdict::lost) {
    ++which.attempts;
    if (which.attempts >= which.limits.attempts) {
      reason.message += " (attempt " + std::to_string(which.attempts) + " of " +
                        std::to_string(which.limits.attempts) + ')';
      return fail(which, std::move(reason));
    }
    if (!budget_.take()) {
      reason.message += " (and too many tasks were lost lately to try each again)";
      return fail(which, std::move(reason));
    }
  } else {
    const bool is_throttle = what == verdict::throttled;
    if (is_throttle) rate_.throttled(which.number, in_flight_ + 1, now_ns());
    const unsigned most = is_throttle ? most_throttles : most_refusals;
    if (++which.refusals >= most) {
      reason.message += " (" + std::to_string(most) + " times)";
      return fail(which, std::move(reason));
    }
    // What it ends with if its deadline comes first is why it had to wait.
    which.reason = std::move(reason);
  }
  retry_later(which);
}

// Full jitter: anywhere between now and an end that doubles each time.
void lambda_instance::retry_later(invocation& which) {
  const unsigned tries = std::min(which.refusals + which.attempts, 16U);
  const std::uint64_t longest =
      which.answer.status == 429 || which.answer.status == 503 ? longest_throttle_ns
                                                               : longest_backoff_ns;
  const std::uint64_t end = std::min(longest, first_backoff_ns << tries);
  which.at = invocation::phase::waits_for_retry;
  which.due_ns = now_ns() + std::uniform_int_distribution<std::uint64_t>(0, end)(random_);
  if (which.deadline_ns != 0) which.due_ns = std::min(which.due_ns, which.deadline_ns);
  look_again_at(which.due_ns);
}

// Each invocation under way has an environment of its own, and not more of them have the value than
// answered requests have brought it.
bool lambda_instance::must_carry(const invocation& next) const {
  if (next.carries_shared) return false;
  return std::any_of(next.shared.begin(), next.shared.end(), [this](const auto& each) {
    const auto known = carried_.find(each->key);
    return known == carried_.end() || known->second <= in_flight_;
  });
}

// The request came to an environment that has not met a shared value yet.
void lambda_instance::send_with_shared(invocation& which) {
  if (which.carries_shared) {
    return fail(which, {error_kind::lost, "the function of task " +
                                              std::string(which.called.name()) +
                                              " does not find the shared values sent along"});
  }
  which.carry_shared();
  which.at = invocation::phase::queued;
  which.due_ns = which.deadline_ns;
  queue_.push_back(which);
}

void lambda_instance::conclude(invocation& which) {
  which.at = invocation::phase::concluded;
  which.due_ns = 0;
  finished_here_.push_back(which);
  if (!std::exchange(will_deliver_, true)) {
    boost::asio::post(loop_, [this] { deliver(); });
  }
}

void lambda_instance::fail(invocation& which, failure reason) {
  which.is_result = false;
  which.reason = std::move(reason);
  conclude(which);
}

// Whether it is worth while to sign it anew: the clock was wrong, or the credentials have expired.
bool lambda_instance::mend_signature(invocation& which) {
  // What refused this one may have been mended while it was under way.
  if (which.signature_state != signature_state_) return true;
  if (++which.refusals >= most_refusals) return false;
  const wall_time now = std::chrono::system_clock::now();
  if (const auto server = parse_http_date(which.answer.date)) {
    const auto offset = std::chrono::floor<std::chrono::seconds>(*server - now);
    if (std::chrono::abs(offset - clock_offset_) > smallest_skew) {
      clock_offset_ = offset;
      ++signature_state_;
      return true;
    }
  }
  const auto expires = signer_.credentials().expires;
  if (!expires || (which.answer.error_type.find("Expired") == std::string::npos && now < *expires)) {
    return false;
  }
  renew_credentials();
  return true;
}

void lambda_instance::look_again_at(std::uint64_t due_ns) {
  if (due_ns == 0) return;
  // Not more often than every 2 ms, however many wait.
  const std::uint64_t at = std::max(due_ns, now_ns() + 2'000'000);
  if (timer_at_ns_ != 0 && timer_at_ns_ <= at) return;
  timer_at_ns_ = at;
  timer_.expires_at(time_point(std::chrono::nanoseconds(at)));
  timer_.async_wait([this](const boost::system::error_code& failed) {
    if (failed) return;
    timer_at_ns_ = 0;
    look_at_all();
  });
}

void lambda_instance::look_at_all() {
  const std::uint64_t now = now_ns();
  std::uint64_t next = 0;
  std::vector<invocation*> due;
  {
    // Invocations end on this thread alone: they outlive the lock.
    const std::lock_guard lock(invocations_mutex_);
    for (invocation* at = all_; at != nullptr; at = at->next_of_all) {
      if (at->due_ns == 0) continue;
      if (at->due_ns <= now) {
        due.push_back(at);
      } else if (next == 0 || at->due_ns < next) {
        next = at->due_ns;
      }
    }
  }
  for (invocation* each : due) look_at(*each, now);
  look_again_at(next);
  send_queued();
}

void lambda_instance::look_at(invocation& which, std::uint64_t now) {
  const bool is_overdue = which.deadline_ns != 0 && which.deadline_ns <= now;
  if (which.at == invocation::phase::waits_for_retry && !is_overdue) {
    which.at = invocation::phase::queued;
    which.due_ns = which.deadline_ns;
    look_again_at(which.due_ns);
    queue_.push_back(which);
    return;
  }
  if (which.at == invocation::phase::queued) {
    queue_.remove(which);
  } else if (which.at == invocation::phase::in_flight) {
    client_->abandon(which);
    land(which);
    ++which.attempts;
  }
  const std::string task = "task " + std::to_string(which.id);
  if (is_overdue) {
    std::string text = task + " did not finish within its deadline of " +
                       seconds_text(which.limits.deadline_ns);
    if (!which.reason.message.empty()) text += "; before that: " + which.reason.message;
    return fail(which, {error_kind::timeout, std::move(text)});
  }
  fail(which, {error_kind::timeout, task + ", " + which.called.name() + ", was not answered within " +
                                        seconds_text(tick_clock::get().to_ns(ticks() - which.sent))});
}

// Of an invocation without a job.
void lambda_instance::drop(invocation& which) {
  switch (which.at) {
    case invocation::phase::concluded: return;  // deliver() ends it
    case invocation::phase::queued: queue_.remove(which); break;
    case invocation::phase::in_flight:
      client_->abandon(which);
      land(which);
      break;
    case invocation::phase::waits_for_retry: break;
  }
  delete &which;
}

// On a thread of its own: those who hand credentials out may take their time.
void lambda_instance::renew_credentials() {
  if (std::exchange(is_renewing_, true)) return;
  if (renewer_.joinable()) renewer_.join();
  renew_at_ = wall_time::max();
  renewer_ = std::thread([this] {
    std::optional<aws_credentials> found;
    while (!found) {
      try {
        found = find_credentials(options_.profile);
      } catch (const error&) {
        // The old ones are used as long as they are accepted; what fails then says why.
      }
      std::unique_lock lock(invocations_mutex_);
      if (is_closing_) return;
      if (found) {
        new_credentials_ = std::move(found);
        return wake(lock);
      }
      closing_.wait_for(lock, std::chrono::seconds(10), [this] { return is_closing_; });
    }
  });
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "base/ticks.hpp"
#include "lambda/lambda_instance.hpp"

/// Second attempts at what takes suspiciously long, where the user asked for them.

namespace cppless::detail {
namespace {

constexpr auto watch_interval = std::chrono::milliseconds(25);

// Of all that is under way: when everything takes long, sending more does not help.
constexpr std::size_t most_at_once(std::size_t in_flight) {
  return std::max<std::size_t>(1, in_flight / 10);
}

}  // namespace

void lambda_instance::watch_stragglers() {
  if (in_flight_ == 0 || std::exchange(watches_stragglers_, true)) return;
  straggler_timer_.expires_after(watch_interval);
  straggler_timer_.async_wait([this](const boost::system::error_code& failed) {
    if (failed) return;
    watches_stragglers_ = false;
    duplicate_stragglers();
    watch_stragglers();
  });
}

void lambda_instance::duplicate_stragglers() {
  // What was not even tried goes first.
  if (!queue_.empty() || rate_.is_reduced()) return;
  const std::uint64_t now = ticks();
  std::vector<invocation*> late;
  std::size_t under_way = 0;
  {
    const std::lock_guard lock(invocations_mutex_);
    for (invocation* at = all_; at != nullptr; at = at->next_of_all) {
      if (at->at != invocation::phase::in_flight) continue;
      if (at->second != nullptr) {
        under_way += at->second->is_under_way ? 1 : 0;
      } else if (at->sent != 0 && now > at->sent) {
        const auto suspicious = at->function->times.suspicious();
        if (suspicious && tick_clock::get().to_ns(now - at->sent) > *suspicious) late.push_back(at);
      }
    }
  }
  const std::size_t most = most_at_once(in_flight_);
  for (invocation* each : late) {
    if (under_way++ >= most || in_flight_ >= rate_.limit()) return;
    each->second = std::make_unique<duplicate>(*each);
    ++in_flight_;
    client_->submit(*each->second);
  }
}

http_request lambda_instance::request_of_duplicate(invocation& of) {
  of.second->answer.clear();
  return sign(of);
}

// A result is taken; of anything else the first attempt may still make better.
void lambda_instance::duplicate_answered(invocation& which) {
  --in_flight_;
  const judgement judged =
      judge(which.second->answer, which.called, which.limits, which.function->name);
  if (judged.what != verdict::result) return;
  client_->abandon(which);
  which.answer = std::move(which.second->answer);
  ++which.attempts;
  answered(which);
}

void lambda_instance::abandon_duplicate(invocation& of) {
  if (of.second == nullptr || !std::exchange(of.second->is_under_way, false)) return;
  client_->abandon(*of.second);
  --in_flight_;
}

}  // namespace cppless::detail

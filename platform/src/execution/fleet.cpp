// SPDX-License-Identifier: Apache-2.0
#include "execution/fleet.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace platform::execution {
namespace {

// An environment that is ready before this takes from the queue, so that many short tasks do not
// start a process each; one that initialises for longer no longer holds others back.
constexpr auto start_up_time = std::chrono::milliseconds(30);
constexpr auto finishing_time = std::chrono::milliseconds(20);
constexpr auto hot_tick = std::chrono::milliseconds(10);
constexpr auto cold_tick = std::chrono::seconds(1);
constexpr auto burst_window = std::chrono::seconds(10);

std::size_t starts_at_once() { return std::max(4u, 2 * std::thread::hardware_concurrency()); }

}  // namespace

fleet::fleet(const surroundings& around, fleet_settings settings, variables make_variables,
             std::function<std::shared_ptr<http::service>()> platform_service)
    : around_(around),
      settings_(settings),
      make_variables_(std::move(make_variables)),
      platform_service_(std::move(platform_service)),
      timer_(around.context) {}

fleet::~fleet() = default;

std::string fleet::invoke(const state::function& function, const state::function_version& version, invocation_ptr& work) {
  if (const std::string reason = admit(function.name); !reason.empty()) {
    ++statistics_[function.name].throttles;
    return reason;
  }
  pool& in = pool_of(function, version);
  if (!in.idle.empty()) {
    const auto chosen = std::move(in.idle.back());
    in.idle.pop_back();
    chosen->assign(std::move(work));
  } else {
    in.queue.push_back(std::move(work));
    start_what_is_needed();
  }
  return {};
}

/// Account and reserved concurrency, and how fast a function may grow.
std::string fleet::admit(const std::string& name) {
  usage& of = usage_[name];
  if (of.reserved) {
    if (of.running >= *of.reserved) return "ReservedFunctionConcurrentInvocationLimitExceeded";
  } else {
    unsigned unreserved = 0;
    for (const auto& [other, each] : usage_)
      if (!each.reserved) unreserved += each.running;
    if (unreserved >= unreserved_limit()) return "ConcurrentInvocationLimitExceeded";
  }
  if (of.running + 1 > of.scaled) {
    const auto now = steady::now();
    const double passed = of.refilled == steady::time_point() ? 1 : std::chrono::duration<double>(now - of.refilled) / burst_window;
    of.tokens = std::min<double>(settings_.burst, of.tokens + passed * settings_.burst);
    of.refilled = now;
    if (of.tokens < 1) return "ConcurrentInvocationLimitExceeded";
    of.tokens -= 1;
    of.scaled = of.running + 1;
  }
  ++of.running;
  ++in_flight_;
  return {};
}

void fleet::release(const std::string& function) {
  --usage_[function].running;
  --in_flight_;
}

unsigned fleet::unreserved_limit() const {
  unsigned reserved = 0;
  for (const auto& [name, each] : usage_) reserved += each.reserved.value_or(0);
  return settings_.account_concurrency - std::min(settings_.account_concurrency, reserved);
}

void fleet::set_reserved(const std::string& function, std::optional<unsigned> concurrency) {
  usage_[function].reserved = concurrency;
}

fleet::pool& fleet::pool_of(const state::function& function, const state::function_version& version) {
  const std::string key = function.name + ":" + version.version + ":" + version.revision;
  auto& found = pools_[key];
  if (!found) {
    found = std::make_unique<pool>();
    found->key = key;
    found->function = function.name;
    found->version = version;
  }
  return *found;
}

fleet::pool* fleet::pool_of(const environment& which) {
  const auto found = pool_by_environment_.find(which.id());
  return found == pool_by_environment_.end() ? nullptr : found->second;
}

void fleet::start_what_is_needed() {
  if (shutting_down_) return;
  for (auto& [key, in] : pools_) {
    while (needs_another(*in) && recently_started_.size() < starts_at_once()) start_one(*in);
    if (in->starting < in->queue.size()) schedule_tick();
  }
}

bool fleet::needs_another(const pool& in) const {
  const auto since = steady::now() - finishing_time;
  const auto soon = std::count_if(in.finishing.begin(), in.finishing.end(), [&](const auto& each) { return each.second > since; });
  return in.starting + static_cast<std::size_t>(soon) < in.queue.size();
}

void fleet::start_one(pool& in) {
  const std::uint64_t id = next_id_++;
  const auto made = std::make_shared<environment>(around_, static_cast<environment_owner&>(*this), id, in.function, in.version);
  in.all[id] = made;
  ++in.starting;
  pool_by_environment_[id] = &in;
  recently_started_[id] = steady::now();
  ++statistics_[in.function].cold_starts;
  made->start(make_variables_(*made), platform_service_());
  schedule_tick();
}

void fleet::on_idle(environment& which) {
  pool* in = pool_of(which);
  if (in == nullptr) return which.kill();
  in->finishing.erase(which.id());
  const bool just_started = which.invocations() == 0;
  if (just_started) {
    --in->starting;
    recently_started_.erase(which.id());
  }
  if (!in->queue.empty()) {
    invocation_ptr work = std::move(in->queue.front());
    in->queue.pop_front();
    which.assign(std::move(work));
  } else if (in->outdated || shutting_down_) {
    which.kill();
  } else {
    in->idle.push_back(which.shared_from_this());
    schedule_tick();
  }
  if (just_started) start_what_is_needed();
}

void fleet::on_end(environment& which, std::optional<failure> why) {
  groups_to_remove_.push_back("e" + std::to_string(which.id()));
  schedule_tick();
  pool* in = pool_of(which);
  pool_by_environment_.erase(which.id());
  const bool starting = recently_started_.erase(which.id()) > 0 || which.invocations() == 0;
  if (in == nullptr) return;
  const auto keep = in->all[which.id()];
  in->all.erase(which.id());
  in->finishing.erase(which.id());
  std::erase(in->idle, keep);
  if (starting && why) --in->starting;
  if (why && !in->queue.empty()) {
    const invocation_ptr work = std::move(in->queue.front());
    in->queue.pop_front();
    around_.logs.append(in->function, which.log_stream(),
                        "START RequestId: " + work->request_id + " Version: " + in->version.version + "\nRequestId: " +
                            work->request_id + " Error: " + why->text + "\n" + why->type + "\nEND RequestId: " + work->request_id + "\n");
    on_completed(which, steady::now() - work->arrived, true);
    work->done(to_outcome(*why, *work));
  }
  start_what_is_needed();
}

void fleet::on_completed(const environment& which, steady::duration latency, bool failed) {
  if (pool* in = pool_of(which)) in->finishing[which.id()] = steady::now();
  release(which.function());
  function_statistics& of = statistics_[which.function()];
  ++of.invocations;
  of.errors += failed;
  of.latency.add(latency);
}

void fleet::retire_outdated(const state::function& function) {
  for (auto& [key, in] : pools_) {
    if (in->function != function.name) continue;
    const state::function_version* now = function.find(in->version.version);
    if (now == nullptr || now->revision != in->version.revision) in->outdated = true;
    if (!in->outdated) continue;
    for (const auto& each : std::exchange(in->idle, {})) each->kill();
  }
}

void fleet::retire_all(const std::string& function) {
  for (auto& [key, in] : pools_) {
    if (in->function != function) continue;
    in->outdated = true;
    for (const auto& each : std::exchange(in->idle, {})) each->kill();
  }
  if (const auto found = usage_.find(function); found != usage_.end()) found->second.reserved.reset();
}

std::set<std::string> fleet::code_in_use() const {
  std::set<std::string> used;
  for (const auto& [key, in] : pools_)
    if (!in->all.empty() || !in->queue.empty()) used.insert(in->version.code_sha256);
  return used;
}

void fleet::schedule_tick() {
  const auto wanted = steady::now() + hot_tick;
  if (tick_at_ <= wanted) return;
  tick_at_ = wanted;
  timer_.expires_at(wanted);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) tick();
  });
}

void fleet::tick() {
  tick_at_ = steady::time_point::max();
  const auto now = steady::now();
  std::erase_if(recently_started_, [&](const auto& each) { return each.second + start_up_time < now; });
  start_what_is_needed();
  remove_groups();
  bool hot = !groups_to_remove_.empty();
  bool any = false;
  for (auto& [key, in] : pools_) {
    hot |= freeze_and_reclaim(*in, now) || in->starting < in->queue.size();
    any |= !in->all.empty();
  }
  std::erase_if(pools_, [](const auto& each) {
    return each.second->outdated && each.second->all.empty() && each.second->queue.empty();
  });
  if (hot) return schedule_tick();
  if (!any) return;
  tick_at_ = now + cold_tick;
  timer_.expires_at(tick_at_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) tick();
  });
}

/// Whether it should be looked at again soon.
bool fleet::freeze_and_reclaim(pool& in, steady::time_point now) {
  bool thawed = false;
  std::vector<std::shared_ptr<environment>> expired;
  for (const auto& each : in.idle) {
    const auto age = now - each->idle_since();
    if (age >= settings_.idle_time) expired.push_back(each);
    else if (!each->frozen() && age >= settings_.freeze_after) each->set_frozen(true);
    else thawed |= !each->frozen();
  }
  for (const auto& each : expired) {
    std::erase(in.idle, each);
    each->kill();
  }
  if (!expired.empty()) usage_[in.function].scaled = std::max<unsigned>(usage_[in.function].running, static_cast<unsigned>(in.all.size()));
  return thawed;
}

/// Groups of processes that are still ending cannot be removed yet.
void fleet::remove_groups() {
  std::erase_if(groups_to_remove_, [&](const std::string& name) { return around_.launcher.groups().remove(name); });
}

void fleet::shut_down() {
  shutting_down_ = true;
  timer_.cancel();
  for (auto& [key, in] : pools_) {
    const auto all = in->all;
    for (const auto& [id, each] : all) each->kill();
  }
}

void fleet::fade_statistics() {
  for (auto& [name, of] : statistics_) of.latency.fade();
}

void fleet::each(const std::function<void(const environment&)>& look) const {
  for (const auto& [key, in] : pools_)
    for (const auto& [id, one] : in->all) look(*one);
}

}  // namespace platform::execution

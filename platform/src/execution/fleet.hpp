// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execution/environment.hpp"
#include "execution/statistics.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace platform::execution {

struct fleet_settings {
  unsigned account_concurrency = 1000;
  unsigned burst = 1000;  ///< further concurrency a function may take within 10 s; as AWS's scaling rate
  std::chrono::milliseconds idle_time = std::chrono::minutes(10);  ///< then an environment is reclaimed
  /// A sequence of requests finds its environment thawed; nothing runs on for longer than this.
  std::chrono::milliseconds freeze_after = std::chrono::milliseconds(10);
};

/// All execution environments: which invocation runs where, when new ones start, when idle ones are
/// frozen and reclaimed. Used from the I/O thread.
class fleet final : environment_owner {
 public:
  /// Makes the variables of an environment.
  using variables = std::function<std::vector<std::string>(const environment& of)>;

  fleet(const surroundings& around, fleet_settings settings, variables make_variables,
        std::function<std::shared_ptr<http::service>()> platform_service);
  ~fleet() override;

  /// Runs `work` as soon as there is an environment for it. If limits do not allow it, returns the
  /// reason of a TooManyRequestsException and leaves `work` as it is.
  std::string invoke(const state::function& function, const state::function_version& version, invocation_ptr& work);

  /// Environments that run something else than `function`'s versions now end when they are idle.
  void retire_outdated(const state::function& function);
  void retire_all(const std::string& function);
  void set_reserved(const std::string& function, std::optional<unsigned> concurrency);
  unsigned unreserved_limit() const;
  std::set<std::string> code_in_use() const;
  void shut_down();
  /// Lets old latencies count less; called now and then.
  void fade_statistics();

  const statistics& counted() const { return statistics_; }
  const fleet_settings& settings() const { return settings_; }
  std::uint64_t in_flight() const { return in_flight_; }
  void each(const std::function<void(const environment&)>& look) const;

 private:
  struct pool {
    std::string key;
    std::string function;
    state::function_version version;
    std::map<std::uint64_t, std::shared_ptr<environment>> all;
    std::vector<std::shared_ptr<environment>> idle;  ///< the warmest last
    std::deque<invocation_ptr> queue;
    std::size_t starting = 0;
    /// Those that have answered and are about to ask for more: worth waiting for.
    std::map<std::uint64_t, steady::time_point> finishing;
    bool outdated = false;
  };
  struct usage {
    unsigned running = 0;  ///< accepted and not finished
    std::optional<unsigned> reserved;
    unsigned scaled = 0;  ///< concurrency reached
    double tokens = 0;
    steady::time_point refilled;
  };

  void on_idle(environment& which) override;
  void on_end(environment& which, std::optional<failure> why) override;
  void on_completed(const environment& which, steady::duration latency, bool failed) override;

  pool& pool_of(const state::function& function, const state::function_version& version);
  pool* pool_of(const environment& which);
  std::string admit(const std::string& function);
  void release(const std::string& function);
  void start_what_is_needed();
  bool needs_another(const pool& in) const;
  void start_one(pool& in);
  void schedule_tick();
  void tick();
  bool freeze_and_reclaim(pool& in, steady::time_point now);
  void remove_groups();

  const surroundings& around_;
  fleet_settings settings_;
  variables make_variables_;
  std::function<std::shared_ptr<http::service>()> platform_service_;
  std::unordered_map<std::string, std::unique_ptr<pool>> pools_;
  std::unordered_map<std::uint64_t, pool*> pool_by_environment_;
  std::unordered_map<std::string, usage> usage_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, steady::time_point> recently_started_;
  std::vector<std::string> groups_to_remove_;
  statistics statistics_;
  boost::asio::steady_timer timer_;
  steady::time_point tick_at_ = steady::time_point::max();
  bool shutting_down_ = false;
};

}  // namespace platform::execution

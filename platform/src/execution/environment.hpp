// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "execution/failure.hpp"
#include "execution/function_log.hpp"
#include "execution/invocation.hpp"
#include "http/listener.hpp"
#include "sandbox/launcher.hpp"
#include "state/account.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace platform::execution {

class environment;

/// Whoever owns environments hears from them.
class environment_owner {
 public:
  virtual ~environment_owner() = default;
  /// Ready for an invocation. The owner assigns one or keeps it for later.
  virtual void on_idle(environment& which) = 0;
  /// Ended for whatever reason; it will not call again. If it never became idle, `why` says why.
  virtual void on_end(environment& which, std::optional<failure> why) = 0;
  virtual void on_completed(const environment& which, steady::duration latency, bool failed) = 0;
};

/// What every environment needs.
struct surroundings {
  boost::asio::io_context& context;
  sandbox::launcher& launcher;
  http::deadlines& watch;
  function_logs& logs;
  std::filesystem::path code_directory;
  std::chrono::milliseconds init_limit = std::chrono::seconds(10);
};

/// An execution environment: one sandboxed process that takes one invocation after the other over the
/// Runtime API. Used from the I/O thread.
class environment : public std::enable_shared_from_this<environment> {
 public:
  enum class phase { starting, initializing, idle, busy, ending };

  environment(const surroundings& around, environment_owner& owner, std::uint64_t id, std::string function,
              const state::function_version& version);
  /// `platform` answers what the function asks of the platform itself.
  void start(std::vector<std::string> variables, std::shared_ptr<http::service> platform);
  void assign(invocation_ptr work);
  void set_frozen(bool frozen);
  /// Ends the processes; a running invocation fails.
  void kill();

  phase now() const { return phase_; }
  std::uint64_t id() const { return id_; }
  bool frozen() const { return frozen_; }
  bool cold() const { return invocations_ <= 1; }
  steady::time_point idle_since() const { return idle_since_; }
  const std::string& function() const { return function_; }
  const state::function_version& version() const { return version_; }
  const std::string& log_stream() const { return log_stream_; }
  std::uint64_t invocations() const { return invocations_; }

  /// The Runtime API.
  void serve(http::request message, http::responder respond);

 private:
  void on_started(sandbox::started got, std::shared_ptr<http::service> platform);
  void watch_control();
  void take_control();
  void on_process_end(int status, const std::string& preparation);
  void watch_output();
  void drain_output();
  void print(std::string_view text);
  void say(const std::string& line);
  void deliver();
  void next(http::responder respond);
  void respond_to(http::request& message, std::string_view id, bool is_error, http::responder respond);
  void complete(outcome result, const std::string& status_words);
  void fail(const failure& what);
  failure describe_end(int status) const;
  void arm(std::chrono::milliseconds time);
  void on_deadline();
  void report(const std::string& status_words);
  std::uint64_t peak_mb() const;
  void close_everything();

  const surroundings& around_;
  environment_owner& owner_;
  const std::uint64_t id_;
  const std::string function_;
  const state::function_version version_;
  const std::string log_stream_;
  std::string group_;

  phase phase_ = phase::starting;
  bool frozen_ = false;
  bool responded_ = false;  ///< busy, the answer is out, the next `next` is awaited
  bool ended_ = false;
  std::uint64_t invocations_ = 0;
  steady::time_point created_ = steady::now();
  steady::time_point began_;
  steady::time_point idle_since_;
  std::chrono::duration<double, std::milli> init_time_{0};
  std::optional<failure> init_failure_;
  invocation_ptr work_;
  http::responder waiting_next_;

  boost::asio::steady_timer timer_;
  std::shared_ptr<http::listener> runtime_;
  std::shared_ptr<http::listener> platform_;
  boost::asio::posix::stream_descriptor output_;
  boost::asio::posix::stream_descriptor control_;
  sandbox::owned_descriptor process_;
  sandbox::cgroups::handle cgroup_;
  std::string unfinished_line_;
  std::string tail_;
};

}  // namespace platform::execution

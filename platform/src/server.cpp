// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include "api/front.hpp"
#include "api/lambda.hpp"
#include "api/pages.hpp"
#include "execution/fleet.hpp"
#include "execution/variables.hpp"
#include "http/listener.hpp"
#include "http/tls.hpp"
#include "neighbours/moto.hpp"
#include "state/account.hpp"
#include "state/credentials.hpp"
#include "state/file.hpp"

#include <boost/asio/signal_set.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace platform {
namespace {

constexpr auto flush_interval = std::chrono::milliseconds(100);
constexpr auto garbage_interval = std::chrono::minutes(1);
constexpr auto drain_time = std::chrono::seconds(5);

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// One server per state directory: two would overwrite each other's.
sandbox::owned_descriptor lock_state(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  ::chmod(directory.c_str(), 0700);
  sandbox::owned_descriptor lock(::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error("another platform uses " + directory.string() + ": stop it, or name another directory");
  return lock;
}

class server {
 public:
  explicit server(const options& wanted)
      : wanted_(wanted),
        lock_(lock_state(wanted.state)),
        account_(wanted.state / "account"),
        keys_(load_keys(wanted.state)),
        tls_(tls_context(wanted.state)),
        watch_(context_),
        launcher_(context_, made(wanted.state / "run"), account_.code_directory()),
        logs_(made(wanted.state / "logs")),
        around_{context_, launcher_, watch_, logs_, account_.code_directory()},
        fleet_(around_, wanted.fleet, [this](const execution::environment& of) { return variables(of); },
               [this] { return api::inside_service(*front_); }),
        lambda_(context_, account_, fleet_, {wanted.here, wanted.event_retry_delay}),
        check_(wanted.here.region, [this](std::string_view id) { return keys_.find(id); }),
        moto_(context_, wanted.moto, wanted.here, logs_, wanted.state / "moto.log"),
        front_(std::make_unique<api::front>(check_, lambda_, &moto_)),
        pages_(account_, fleet_, launcher_.can(), keys_),
        signals_(context_, SIGTERM, SIGINT),
        flush_timer_(context_),
        garbage_timer_(context_),
        drain_timer_(context_) {}

  void run() {
    plain_ = std::make_shared<http::listener>(http::listen_on_loopback(context_, wanted_.port), watch_, api::outside_service(*front_));
    secure_ = std::make_shared<http::listener>(http::listen_on_loopback(context_, wanted_.tls_port), watch_,
                                               api::outside_service(*front_), http::patience{}, &tls_);
    plain_->start();
    secure_->start();
    watch_.start();
    front_->open_pages = [this](const http::request& message, http::responder& respond) { return pages_.serve(message, respond); };
    if (!wanted_.moto.empty())
      lambda_.fetch = [this](const auto& bucket, const auto& key, auto call) { moto_.fetch(bucket, key, std::move(call)); };
    pages_.port = plain_->port();
    lambda_.code_location = [this](const std::string& sha256) { return pages_.code_location(sha256); };
    launcher_.on_loss = [this] {
      std::cerr << "cppless-platform: error: the spawner process ended; stopping" << std::endl;
      context_.stop();
    };
    signals_.async_wait([this](boost::system::error_code, int) { drain(std::chrono::steady_clock::now() + drain_time); });
    flush();
    collect_garbage();
    announce();
    context_.run();
    logs_.flush();
    ::unlink((wanted_.state / "running.json").c_str());
  }

 private:
  static std::filesystem::path made(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    return directory;
  }

  static api::key_ring load_keys(const std::filesystem::path& state) {
    api::key_ring ring;
    for (const auto& each : state::ensure_credentials(state / "credentials")) ring.add(each.id, each.secret);
    return ring;
  }

  static boost::asio::ssl::context tls_context(const std::filesystem::path& state) {
    http::ensure_certificates(state / "tls");
    return http::server_context(state / "tls");
  }

  std::vector<std::string> variables(const execution::environment& of) {
    const api::access_key& key = keys_.of_function(of.function());
    return execution::environment_variables(of, wanted_.here.region, {key.id, key.secret, key.token});
  }

  void announce() {
    for (const std::string& each : launcher_.can().missing) std::cerr << "cppless-platform: missing here: " << each << std::endl;
    const nlohmann::json about{{"pid", ::getpid()},           {"port", plain_->port()},
                               {"tls_port", secure_->port()}, {"region", wanted_.here.region},
                               {"account", wanted_.here.account}};
    state::write_atomically(wanted_.state / "running.json", about.dump(1) + "\n", 0644);
    std::cerr << "cppless-platform: ready at http://127.0.0.1:" << plain_->port() << " and https://127.0.0.1:" << secure_->port()
              << " (" << account_.functions().size() << " functions)" << std::endl;
  }

  void flush() {
    flush_timer_.expires_after(flush_interval);
    flush_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      logs_.flush();
      flush();
    });
  }

  void collect_garbage() {
    garbage_timer_.expires_after(garbage_interval);
    garbage_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      fleet_.fade_statistics();
      account_.collect_garbage(fleet_.code_in_use());
      collect_garbage();
    });
  }

  /// No new work; what runs may finish, for a while.
  void drain(std::chrono::steady_clock::time_point until) {
    lambda_.draining = true;
    plain_->stop();
    secure_->stop();
    if (fleet_.in_flight() == 0 || std::chrono::steady_clock::now() > until) {
      fleet_.shut_down();
      drain_timer_.expires_after(std::chrono::milliseconds(50));
      return drain_timer_.async_wait([this](boost::system::error_code) { context_.stop(); });
    }
    drain_timer_.expires_after(std::chrono::milliseconds(20));
    drain_timer_.async_wait([this, until](boost::system::error_code) { drain(until); });
  }

  const options& wanted_;
  boost::asio::io_context context_{1};
  sandbox::owned_descriptor lock_;
  state::account account_;
  api::key_ring keys_;
  boost::asio::ssl::context tls_;
  http::deadlines watch_;
  sandbox::launcher launcher_;
  execution::function_logs logs_;
  execution::surroundings around_;
  execution::fleet fleet_;
  api::lambda_api lambda_;
  api::verifier check_;
  neighbours::moto moto_;
  std::unique_ptr<api::front> front_;
  api::pages pages_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer flush_timer_;
  boost::asio::steady_timer garbage_timer_;
  boost::asio::steady_timer drain_timer_;
  std::shared_ptr<http::listener> plain_;
  std::shared_ptr<http::listener> secure_;
};

}  // namespace

void run_server(const options& wanted) {
  ::umask(022);
  ::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  server(wanted).run();
}

}  // namespace platform

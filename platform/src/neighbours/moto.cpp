// SPDX-License-Identifier: Apache-2.0
#include "neighbours/moto.hpp"

#include "api/error.hpp"
#include "api/uri.hpp"
#include "http/client.hpp"
#include "http/listener.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace platform::neighbours {
namespace {

constexpr std::array services = {"s3", "iam", "sts", "logs"};
constexpr auto start_patience = std::chrono::seconds(60);
constexpr auto log_interval = std::chrono::milliseconds(250);
constexpr std::size_t events_per_request = 1000;

}  // namespace

moto::moto(boost::asio::io_context& context, std::string program, const api::place& here, execution::function_logs& logs,
           const std::filesystem::path& log_file)
    : context_(context), program_(std::move(program)), here_(here), logs_(logs), timer_(context) {
  if (program_.empty()) return;
  start(log_file);
  logs_.keep_events = true;
  carry_logs();
}

moto::~moto() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);  // it keeps nothing
  ::waitpid(child_, nullptr, 0);
}

void moto::start(const std::filesystem::path& log_file) {
  {
    const auto free = http::listen_on_loopback(context_, 0);
    port_ = free.local_endpoint().port();
  }
  const std::string port = std::to_string(port_);
  const std::string account = "MOTO_ACCOUNT_ID=" + here_.account;
  const char* home = std::getenv("HOME");
  const std::string homes = std::string("HOME=") + (home ? home : "/");
  const char* words[] = {program_.c_str(), "-H", "127.0.0.1", "-p", port.c_str(), nullptr};
  const char* variables[] = {"PATH=/usr/local/bin:/usr/bin:/bin", account.c_str(), homes.c_str(),
                             "MOTO_IAM_LOAD_MANAGED_POLICIES=true", "PYTHONDONTWRITEBYTECODE=1", nullptr};
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int input = ::open("/dev/null", O_RDONLY);
    ::dup2(input, 0);
    ::dup2(log, 1);
    ::dup2(log, 2);
    ::close_range(3, ~0u, 0);
    ::execve(words[0], const_cast<char**>(words), const_cast<char**>(variables));
    ::_exit(127);
  }
  ::close(log);
}

bool moto::serves(const std::string& service) const {
  return std::find(services.begin(), services.end(), service) != services.end();
}

void moto::forward(http::request message, http::responder respond) {
  if (program_.empty())
    throw api::error(501, "NotImplemented", "This platform has no S3, IAM, STS and CloudWatch Logs, for moto is not installed: cppless platform start --moto");
  http::send(context_, port_, std::move(message), start_patience, [respond](std::optional<http::response> answer) {
    if (answer) return respond(std::move(*answer));
    respond(api::to_response(api::error(503, "ServiceUnavailable", "moto does not answer: see moto.log in the platform's state directory")));
  });
}

http::request moto::own_request(const std::string& service, const std::string& method, const std::string& target) const {
  http::request made;
  made.method = method;
  made.target = target;
  // moto finds the service by the scope; it checks no signature.
  made.headers = {{"host", "127.0.0.1:" + std::to_string(port_)},
                  {"authorization", "AWS4-HMAC-SHA256 Credential=platform/20200101/" + here_.region + "/" + service +
                                        "/aws4_request, SignedHeaders=host, Signature=0"}};
  return made;
}

void moto::fetch(const std::string& bucket, const std::string& key, std::function<void(std::optional<std::string>, std::string)> call) {
  if (program_.empty()) return call(std::nullopt, "moto is not installed: cppless platform start --moto");
  auto message = own_request("s3", "GET", "/" + api::encode_uri(bucket, api::keep_slashes::no) + "/" + api::encode_uri(key, api::keep_slashes::yes));
  http::send(context_, port_, std::move(message), start_patience, [call = std::move(call)](std::optional<http::response> answer) {
    if (answer && answer->status == 200) return call(std::move(answer->body), {});
    call(std::nullopt, answer ? "The specified key does not exist." : "moto does not answer");
  });
}

void moto::carry_logs() {
  timer_.expires_after(log_interval);
  timer_.async_wait([this](boost::system::error_code failed) {
    if (failed) return;
    if (!sending_ && !logs_.events.empty()) send_logs();
    carry_logs();
  });
}

/// The events of one stream that are next, after its group and stream were made.
void moto::send_logs() {
  const std::string function = logs_.events.front().function;
  const std::string stream = logs_.events.front().stream;
  const nlohmann::json names{{"logGroupName", "/aws/lambda/" + function}, {"logStreamName", stream}};
  sending_ = true;
  if (streams_.insert(stream).second) {
    const nlohmann::json group{{"logGroupName", "/aws/lambda/" + function}};
    return ask_logs("CreateLogGroup", group.dump(), [this, names](bool) {  // it may be there already
      ask_logs("CreateLogStream", names.dump(), [this](bool) { sending_ = false; });
    });
  }
  nlohmann::json batch = names;
  batch["logEvents"] = nlohmann::json::array();
  while (!logs_.events.empty() && logs_.events.front().stream == stream && batch["logEvents"].size() < events_per_request) {
    std::string text = std::move(logs_.events.front().text);
    if (text.ends_with('\n')) text.pop_back();
    if (text.empty()) text = " ";
    batch["logEvents"].push_back({{"timestamp", logs_.events.front().time_ms}, {"message", std::move(text)}});
    logs_.events.pop_front();
  }
  ask_logs("PutLogEvents", batch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), [this](bool done) {
    sending_ = false;
    if (!done) std::cerr << "cppless-platform: moto did not take log lines" << std::endl;
    if (!logs_.events.empty()) send_logs();
  });
}

void moto::ask_logs(const std::string& operation, const std::string& body, std::function<void(bool)> then) {
  auto message = own_request("logs", "POST", "/");
  message.headers.push_back({"x-amz-target", "Logs_20140328." + operation});
  message.headers.push_back({"content-type", "application/x-amz-json-1.1"});
  message.body = body;
  http::send(context_, port_, std::move(message), start_patience,
             [then = std::move(then)](const std::optional<http::response>& answer) { then(answer && answer->status == 200); });
}

}  // namespace platform::neighbours

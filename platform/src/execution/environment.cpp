// SPDX-License-Identifier: Apache-2.0
#include "execution/environment.hpp"

#include "state/digest.hpp"

#include <boost/asio/post.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace platform::execution {
namespace {

constexpr std::size_t tail_at_most = 4096;
constexpr std::size_t line_at_most = 256 * 1024;

double milliseconds(steady::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string stream_name(const std::string& version) {
  const std::string now = timestamp();
  return now.substr(0, 4) + "/" + now.substr(5, 2) + "/" + now.substr(8, 2) + "/[" + version + "]" +
         state::hex(state::random_bytes(16));
}

}  // namespace

environment::environment(const surroundings& around, environment_owner& owner, std::uint64_t id, std::string function,
                         const state::function_version& version)
    : around_(around),
      owner_(owner),
      id_(id),
      function_(std::move(function)),
      version_(version),
      log_stream_(stream_name(version.version)),
      group_("e" + std::to_string(id)),
      timer_(around.context),
      output_(around.context),
      control_(around.context) {}

void environment::start(std::vector<std::string> variables, std::shared_ptr<http::service> platform) {
  if (!std::filesystem::exists(around_.code_directory / version_.code_sha256 / "bootstrap")) {
    boost::asio::post(around_.context, [self = shared_from_this()] {
      self->phase_ = phase::ending;
      self->owner_.on_end(*self, failure{"Runtime.InvalidEntrypoint",
                                         "Couldn't find valid bootstrap(s): [/var/task/bootstrap /opt/bootstrap]", {}});
    });
    return;
  }
  sandbox::start_request request;
  request.id = id_;
  request.code = version_.code_sha256;
  if (version_.architecture == "arm64") request.command.push_back("/usr/bin/qemu-aarch64-static");
  request.command.push_back("/var/task/bootstrap");
  request.environment = std::move(variables);
  request.memory_mb = version_.memory_mb;
  request.ephemeral_mb = version_.ephemeral_mb;
  around_.launcher.start(request, [self = shared_from_this(), platform](std::optional<sandbox::started> got, const std::string& why) {
    if (got) return self->on_started(std::move(*got), platform);
    self->phase_ = phase::ending;
    self->owner_.on_end(*self, failure{"Sandbox.Failure", "the sandbox could not be started: " + why, {}});
  });
}

void environment::on_started(sandbox::started got, std::shared_ptr<http::service> platform) {
  class runtime_api : public http::service {
   public:
    explicit runtime_api(std::weak_ptr<environment> of) : of_(std::move(of)) {}
    std::size_t body_limit(const http::request&) const override { return payload_limit; }
    void serve(http::request message, http::responder respond) override {
      if (const auto alive = of_.lock()) alive->serve(std::move(message), std::move(respond));
    }

   private:
    std::weak_ptr<environment> of_;
  };
  const bool unwanted = phase_ == phase::ending;
  phase_ = phase::initializing;
  process_ = std::move(got.process);
  cgroup_ = around_.launcher.groups().open_handle(group_);
  output_.assign(got.output.release());
  output_.native_non_blocking(true);
  control_.assign(got.control.release());
  control_.native_non_blocking(true);
  http::patience any;
  any.idle = any.head = any.body = any.answer = std::chrono::hours(24 * 365);  // frozen functions are slow
  runtime_ = std::make_shared<http::listener>(http::adopt_listening(around_.context, got.runtime_listener.release()),
                                              around_.watch, std::make_shared<runtime_api>(weak_from_this()), any);
  runtime_->start();
  platform_ = std::make_shared<http::listener>(http::adopt_listening(around_.context, got.platform_listener.release()),
                                               around_.watch, std::move(platform), any);
  platform_->start();
  watch_output();
  watch_control();
  arm(around_.init_limit);
  if (unwanted) kill();
}

void environment::watch_control() {
  control_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](boost::system::error_code error) {
                        if (!error) self->take_control();
                      });
}

void environment::take_control() {
  char message[512];
  const ssize_t size = ::recv(control_.native_handle(), message, sizeof message, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return watch_control();
  int status = SIGKILL;  // as if killed, if init went without a word
  if (size >= static_cast<ssize_t>(sizeof status)) std::memcpy(&status, message, sizeof status);
  const std::size_t rest = size > static_cast<ssize_t>(sizeof status) ? static_cast<std::size_t>(size) - sizeof status : 0;
  on_process_end(status, std::string(message + sizeof status, rest));
}

void environment::on_process_end(int status, const std::string& preparation) {
  if (ended_) return;
  const auto keep = shared_from_this();
  ended_ = true;
  drain_output();
  failure why = preparation.empty() ? describe_end(status)
                                    : failure{"Sandbox.Failure", "the sandbox could not be prepared: " + preparation, {}};
  const bool never_ready = phase_ == phase::initializing;
  if (init_failure_) why = *init_failure_;
  if (work_) fail(why);
  else if (never_ready) say("INIT_REPORT Init Duration: " + fixed(milliseconds(steady::now() - created_)) + " ms\tPhase: init\tStatus: error\tError Type: " + why.type);
  const bool wanted = phase_ != phase::ending;
  phase_ = phase::ending;
  close_everything();
  owner_.on_end(*this, never_ready && wanted ? std::optional(why) : std::nullopt);
}

failure environment::describe_end(int status) const {
  const bool oom = around_.launcher.groups().oom_kills(cgroup_) > 0;
  return failure{oom ? "Runtime.OutOfMemory" : "Runtime.ExitError", exit_text(oom ? SIGKILL : status), {}};
}

void environment::serve(http::request message, http::responder respond) {
  constexpr std::string_view invocations = "/2018-06-01/runtime/invocation/";
  const std::string path(message.path());
  if (path == "/2018-06-01/runtime/invocation/next" && message.method == "GET") return next(std::move(respond));
  if (path == "/2018-06-01/runtime/init/error" && message.method == "POST") {
    init_failure_ = failure{"Runtime.Unknown", {}, std::move(message.body)};
    respond(runtime_status(202, "OK"));
    return kill();
  }
  if (path.starts_with(invocations) && message.method == "POST") {
    const auto end = path.find('/', invocations.size());
    const std::string id = path.substr(invocations.size(), end - invocations.size());
    const std::string what = end == path.npos ? "" : path.substr(end);
    if (what == "/response" || what == "/error") return respond_to(message, id, what == "/error", std::move(respond));
  }
  respond(runtime_error(404, "NotFound", "404 page not found"));
}

void environment::next(http::responder respond) {
  if (phase_ == phase::busy && !responded_)
    return respond(runtime_error(403, "InvalidStateTransition", "Transition from Running to Ready is not allowed"));
  waiting_next_ = std::move(respond);
  if (phase_ != phase::initializing && phase_ != phase::busy) return;
  if (phase_ == phase::initializing) {
    init_time_ = steady::now() - created_;
    around_.launcher.groups().limit_cpu(cgroup_, version_.memory_mb);
  }
  timer_.cancel();
  phase_ = phase::idle;
  idle_since_ = steady::now();
  owner_.on_idle(*this);
}

void environment::assign(invocation_ptr work) {
  set_frozen(false);
  work_ = std::move(work);
  phase_ = phase::busy;
  responded_ = false;
  ++invocations_;
  began_ = steady::now();
  deliver();
}

void environment::deliver() {
  using namespace std::chrono;
  const auto limit = seconds(version_.timeout_seconds);
  const auto deadline = duration_cast<std::chrono::milliseconds>((system_clock::now() + limit).time_since_epoch());
  http::response message;
  message.headers = {{"Content-Type", "application/json"},
                     {"Lambda-Runtime-Aws-Request-Id", work_->request_id},
                     {"Lambda-Runtime-Deadline-Ms", std::to_string(deadline.count())},
                     {"Lambda-Runtime-Invoked-Function-Arn", work_->function_arn},
                     {"Lambda-Runtime-Trace-Id", work_->trace_id}};
  if (!work_->client_context.empty()) message.headers.push_back({"Lambda-Runtime-Client-Context", work_->client_context});
  message.body = std::move(work_->payload);
  tail_.clear();
  say("START RequestId: " + work_->request_id + " Version: " + version_.version);
  arm(limit);
  const auto answer = std::exchange(waiting_next_, nullptr);
  answer(std::move(message));
}

void environment::respond_to(http::request& message, std::string_view id, bool is_error, http::responder respond) {
  if (!work_ || work_->request_id != id || responded_)
    return respond(runtime_error(400, "InvalidRequestID", "Invalid request ID"));
  outcome result;
  if (message.body_too_large) {
    fail({"Function.ResponseSizeTooLarge",
          "Response payload size exceeded maximum allowed payload size (" + std::to_string(payload_limit) + " bytes).", {}});
    return respond(runtime_error(413, "RequestEntityTooLarge",
                                 "Exceeded maximum allowed payload size (" + std::to_string(payload_limit) + " bytes)."));
  }
  result.payload = std::move(message.body);
  if (is_error) {
    result.function_error = "Unhandled";
    if (result.payload.empty()) {
      std::string type(message.find("lambda-runtime-function-error-type"));
      if (type.empty()) type = "Function.Unknown";
      result.payload = error_payload(type, "");
    }
  } else if (const auto type = message.find("content-type"); !type.empty()) {
    result.content_type = type;
  }
  complete(std::move(result), "");
  respond(runtime_status(202, "OK"));
}

/// The answer goes out; the environment stays busy until the runtime asks for more.
void environment::complete(outcome result, const std::string& status_words) {
  drain_output();
  report(status_words);
  if (work_->wants_log) result.log_tail = tail_;
  responded_ = true;
  const bool failed = !result.function_error.empty() || result.status != 200;
  const invocation_ptr done = std::move(work_);
  owner_.on_completed(*this, steady::now() - done->arrived, failed);
  done->done(std::move(result));
}

void environment::fail(const failure& what) {
  const outcome result = to_outcome(what, *work_);
  if (what.type == "Sandbox.Timedout") {
    say(timestamp() + " " + work_->request_id + " " + what.text);
    complete(result, "\tStatus: timeout");
  } else {
    if (!what.text.empty()) say("RequestId: " + work_->request_id + " Error: " + what.text + "\n" + what.type);
    complete(result, "\tStatus: error\tError Type: " + what.type);
  }
}

void environment::report(const std::string& status_words) {
  const double duration = milliseconds(steady::now() - began_);
  const bool first = invocations_ == 1;
  // Runtimes of one's own pay for their initialisation.
  const double billed = std::ceil(duration + (first ? init_time_.count() : 0));
  std::string text = "END RequestId: " + work_->request_id + "\nREPORT RequestId: " + work_->request_id +
                     "\tDuration: " + fixed(duration) + " ms\tBilled Duration: " + std::to_string(static_cast<long>(billed)) +
                     " ms\tMemory Size: " + std::to_string(version_.memory_mb) + " MB\tMax Memory Used: " +
                     std::to_string(peak_mb()) + " MB";
  if (first) text += "\tInit Duration: " + fixed(init_time_.count()) + " ms";
  say(text + status_words + "\t");
}

std::uint64_t environment::peak_mb() const {
  const std::uint64_t peak = around_.launcher.groups().peak_bytes(cgroup_);
  return std::min<std::uint64_t>(version_.memory_mb, (peak + (1 << 20) - 1) >> 20);
}

void environment::arm(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->on_deadline();
  });
}

void environment::on_deadline() {
  if (phase_ == phase::idle || ended_ || steady::now() < timer_.expiry()) return;  // cancelled too late
  if (phase_ == phase::initializing)
    init_failure_ = failure{"Sandbox.Timedout", "Task timed out after " + fixed(std::chrono::duration<double>(around_.init_limit).count()) + " seconds", {}};
  if (work_) fail({"Sandbox.Timedout", "Task timed out after " + fixed(version_.timeout_seconds) + " seconds", {}});
  kill();
}

void environment::set_frozen(bool frozen) {
  if (frozen_ == frozen || ended_) return;
  frozen_ = frozen;
  if (around_.launcher.groups().has("freezer")) return around_.launcher.groups().freeze(cgroup_, frozen);
  ::send(control_.native_handle(), frozen ? "F" : "T", 1, MSG_NOSIGNAL);
}

void environment::kill() {
  if (phase_ == phase::starting) {
    phase_ = phase::ending;
    return;
  }
  set_frozen(false);
  if (phase_ != phase::initializing) phase_ = phase::ending;
  timer_.cancel();
  ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
}

void environment::watch_output() {
  output_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](boost::system::error_code error) {
                       if (error) return;
                       self->drain_output();
                       if (self->output_.is_open()) self->watch_output();
                     });
}

void environment::drain_output() {
  char piece[16384];
  while (output_.is_open()) {
    const ssize_t count = ::read(output_.native_handle(), piece, sizeof piece);
    if (count > 0) {
      print({piece, static_cast<std::size_t>(count)});
    } else if (count == 0 || errno != EINTR) {
      if (count == 0) output_.close();
      break;
    }
  }
}

void environment::print(std::string_view text) {
  unfinished_line_ += text;
  auto end = unfinished_line_.rfind('\n');
  if (end == std::string::npos && unfinished_line_.size() > line_at_most) {
    unfinished_line_ += '\n';
    end = unfinished_line_.size() - 1;
  }
  if (end == std::string::npos) return;
  const std::string_view lines = std::string_view(unfinished_line_).substr(0, end + 1);
  around_.logs.append(function_, log_stream_, lines);
  tail_ += lines;
  if (tail_.size() > tail_at_most) tail_.erase(0, tail_.size() - tail_at_most);
  unfinished_line_.erase(0, end + 1);
}

void environment::say(const std::string& line) {
  if (!unfinished_line_.empty()) print("\n");
  print(line + "\n");
}

void environment::close_everything() {
  boost::system::error_code ignored;
  timer_.cancel();
  if (runtime_) runtime_->stop();
  if (platform_) platform_->stop();
  output_.close(ignored);
  control_.close(ignored);
  waiting_next_ = nullptr;
  for (const int fd : {cgroup_.freeze, cgroup_.peak, cgroup_.oom, cgroup_.cpu})
    if (fd >= 0) ::close(fd);
  cgroup_ = {};
}

}  // namespace platform::execution

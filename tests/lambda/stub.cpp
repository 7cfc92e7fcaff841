// SPDX-License-Identifier: Apache-2.0
#include "stub.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include <cppless/json_binary_archive.hpp>

#include "base/clock.hpp"
#include "http_server.hpp"
#include "lambda/runtime_request.hpp"
#include "process/task_limits_guard.hpp"
#include "service.hpp"
#include "task/described_exception.hpp"

namespace test {
namespace {

using namespace cppless::detail;
namespace asio = boost::asio;

// What the process of a task says in its first byte.
enum class outcome : char { result, thrown, out_of_memory };

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n <= 0) ::_exit(3);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

[[noreturn]] void run_task(const entry& called, const std::string& body, bool is_cold, int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_DFL);
  if (to != 3) ::dup2(to, 3);
  ::close_range(4, ~0U, 0);
  std::string said;
  try {
    const runtime_request asked(body);
    json_base64_source input(asked.task());
    std::vector<std::byte> bytes(input.remaining());
    input.read(bytes.data(), bytes.size());
    source request(bytes.data(), bytes.size());
    heap_sink result;
    const std::uint64_t begin = now_ns();
    update_scope updates;
    {
      const task_limits_guard guard(called.limits.timeout_ns, called.limits.memory_bytes);
      called.run(request, result);
    }
    const std::uint64_t numbers[] = {now_ns() - begin, peak_resident_bytes()};
    heap_sink whole;
    const auto flags = static_cast<char>((is_cold ? 1 : 0) | (updates.log.empty() ? 0 : 2));
    const char head[] = {1, flags};
    whole.write(head, sizeof head);
    whole.write(numbers, sizeof numbers);
    whole.write(result.data(), result.size());
    if (!updates.log.empty()) updates.log.write(whole);
    said = static_cast<char>(outcome::result) + to_json_base64({whole.data(), whole.size()});
  } catch (const shared_value_missing&) {
    said = static_cast<char>(outcome::result) + std::string(shared_value_missing::answer);
  } catch (const std::bad_alloc&) {
    said = static_cast<char>(outcome::out_of_memory);
  } catch (...) {
    const described_exception thrown = describe_current_exception();
    said = static_cast<char>(outcome::thrown) + thrown.type + '\0' + thrown.what;
  }
  std::fflush(nullptr);
  write_all(3, said);
  ::_exit(0);
}

// What the process left, as Lambda tells it.
answer answer_of(const entry& called, const std::string& said, int status, std::uint64_t took_ns) {
  if (!said.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    switch (static_cast<outcome>(said.front())) {
      case outcome::result: {
        answer given;
        given.body = said.substr(1);
        return given;
      }
      case outcome::out_of_memory: return function_error("Runtime.OutOfMemory", "out of memory");
      case outcome::thrown: {
        const std::size_t end = said.find('\0');
        return function_error(said.substr(1, end - 1), said.substr(end + 1));
      }
    }
  }
  const std::string head = "RequestId: 1 Error: Runtime exited with error: ";
  if (WIFEXITED(status)) {
    return function_error("Runtime.ExitError",
                          head + "exit status " + std::to_string(WEXITSTATUS(status)));
  }
  if (called.limits.timeout_ns != 0 && took_ns >= called.limits.timeout_ns) {
    return function_error("Sandbox.Timedout", "1 Task timed out after " +
                                                  std::to_string(called.limits.timeout_ns /
                                                                 1'000'000'000) + ".00 seconds");
  }
  return function_error("Runtime.ExitError",
                        head + "signal: " + ::strsignal(WTERMSIG(status)));
}

class stub {
 public:
  stub()
      : server_(http_server::in_this_thread{}, {},
                [this](const request& asked, const reply& answered) { start(asked, answered); }) {}

  http_server& server() { return server_; }

 private:
  struct task {
    task(asio::io_context& loop, int from, const entry& called)
        : pipe(loop, from), called(called) {}
    asio::posix::stream_descriptor pipe;
    const entry& called;
    pid_t pid = 0;
    std::uint64_t begin_ns = now_ns();
    std::string said;
  };

  void start(const request& asked, const reply& answered) {
    const std::size_t at = asked.path.rfind("/invocations");
    const entry* const called =
        at == std::string::npos || at < 16
            ? nullptr
            : find_entry(std::stoull(asked.path.substr(at - 16, 16), nullptr, 16));
    if (called == nullptr) {
      return answered(lambda_error(404, "ResourceNotFoundException", asked.path));
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return answered(lambda_error(429, "TooManyRequestsException", "no more descriptors"));
    }
    const bool is_cold = is_warm_.insert(called).second;
    const pid_t pid = ::fork();
    if (pid == 0) run_task(*called, asked.body, is_cold, ends[1]);
    ::close(ends[1]);
    if (pid < 0) {
      ::close(ends[0]);
      return answered(lambda_error(429, "TooManyRequestsException", "no more processes"));
    }
    auto running = std::make_shared<task>(server_.loop(), ends[0], *called);
    running->pid = pid;
    asio::async_read(running->pipe, asio::dynamic_buffer(running->said),
                     [running, answered](const boost::system::error_code&, std::size_t) {
                       int status = 0;
                       ::waitpid(running->pid, &status, 0);
                       answered(answer_of(running->called, running->said, status,
                                          now_ns() - running->begin_ns));
                     });
  }

  std::unordered_set<const entry*> is_warm_;
  http_server server_;
};

}  // namespace

void start_stub_if_asked() {
  const char* const asked = std::getenv("CPPLESS_TEST_STUB");
  if (asked == nullptr || std::strcmp(asked, "1") != 0) return;
  ::unsetenv("CPPLESS_TEST_STUB");
  ::setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  ::setenv("AWS_REGION", "us-east-1", 1);
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t host = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(ends[1]);
    char url[64] = {};
    if (::read(ends[0], url, sizeof url - 1) <= 0) std::abort();
    ::close(ends[0]);
    ::setenv("AWS_ENDPOINT_URL", url, 1);
    return;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "cppless-stub");
  ::signal(SIGINT, SIG_IGN);
  ::close(ends[0]);
  stub made;
  const std::string url = made.server().url();
  // Tasks that dispatch tasks come here too.
  ::setenv("AWS_ENDPOINT_URL", url.c_str(), 1);
  write_all(ends[1], url);
  ::close(ends[1]);
  if (::getppid() == host) made.server().run();
  ::_exit(0);
}

}  // namespace test

// SPDX-License-Identifier: Apache-2.0
// What dispatchers with processes of their own promise: a task may do what it likes to its process.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

using namespace std::chrono_literals;
using cppless::error_kind;
namespace lambda = cppless::lambda;

namespace {

using once = lambda::config<lambda::with_attempts<1>>;

/// A directory of its own, where tasks leave traces for the host.
class scratch {
 public:
  scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cppless-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Adds a byte to the file and returns how many there are.
std::size_t count_up(const std::string& file) {
  std::ofstream(file, std::ios::app) << '.';
  return std::filesystem::file_size(file);
}

void die(int how) {
  switch (how) {
    case 0: ::raise(SIGKILL); break;
    case 1: std::abort();
    case 2: ::signal(SIGSEGV, SIG_DFL); ::raise(SIGSEGV); break;
    case 3: std::exit(0);
    case 4: std::exit(3);
    case 5: std::_Exit(9);
    case 6: std::terminate();
    case 7: ::raise(SIGTERM); break;
  }
}

const char* const traces[] = {"signal 9", "signal 6",    "signal 11", "exited with code 0",
                              "code 3",   "code 9", "signal 6",  "signal 15"};

int global_counter = 7;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return static_cast<bool>(status >> number >> name >> state) && state != "Z";
}

template <class Config, class F, class... Args>
caught failure_with(cppless::instance& instance, F task, const Args&... args) {
  auto future = cppless::async<Config>(instance, task, args...);
  return error_of([&] { future.get(); });
}

}  // namespace

TEST_SUITE_BEGIN("processes");

TEST_CASE("A task whose worker dies is tried again and then succeeds") {
  if (!has_processes()) return;
  const scratch files;
  auto instance = make_instance();
  for (int how = 0; how < 8; ++how) {
    CAPTURE(how);
    const std::string file = files.file(std::to_string(how));
    auto future = cppless::async(instance, [file, how] {
      const auto attempt = count_up(file);
      if (attempt < 3) die(how);
      return attempt;
    });
    CHECK(future.get() == 3);
  }
}

TEST_CASE("A task whose worker always dies is lost after its attempts, saying how it died") {
  if (!has_processes()) return;
  const scratch files;
  auto instance = make_instance();
  for (int how = 0; how < 8; ++how) {
    CAPTURE(how);
    const std::string file = files.file(std::to_string(how));
    auto future = cppless::async(instance, [file, how] { count_up(file), die(how); });
    future.wait();
    CHECK(future.statistics().attempts == 3);
    const caught error = error_of([&] { future.get(); });
    CAPTURE(error.what);
    CHECK(error.kind == error_kind::lost);
    CHECK(error.id != 0);
    CHECK(error.says(is_remote() ? "Runtime exited with error: " : traces[how]));
    CHECK(error.says("attempt 3 of 3"));
    CHECK(std::filesystem::file_size(file) == 3);
  }
  const std::string file = files.file("once");
  const caught error = failure_with<once>(instance, [file] { count_up(file), die(0); });
  CHECK(error.kind == error_kind::lost);
  CHECK(std::filesystem::file_size(file) == 1);
}

TEST_CASE("Tasks that take their workers down leave all others unharmed") {
  if (!has_processes()) return;
  auto instance = make_instance();
  constexpr int count = 200;
  std::vector<int> results(count, -1);
  for (int i = 0; i < count; ++i) {
    cppless::dispatch(
        instance,
        [](int x) {
          if (x % 25 == 7) die(x % 2);
          return x;
        },
        results[i], {i});
  }
  int lost = 0;
  for (int i = 0; i < count; ++i) {
    const caught error = error_of([&] { instance.wait_one(); });
    if (error.any) CHECK(error.kind == error_kind::lost);
    lost += error.any ? 1 : 0;
  }
  CHECK(lost == 8);
  for (int i = 0; i < count; ++i) CHECK(results[i] == (i % 25 == 7 ? -1 : i));
}

TEST_CASE("Tasks that throw, time out or break their memory limit are not tried again") {
  if (!has_processes()) return;
  const scratch files;
  auto instance = make_instance();
  const std::string file = files.file("count");
  failure_with<lambda::config<>>(instance, [file] { count_up(file), throw std::runtime_error(""); });
  CHECK(std::filesystem::file_size(file) == 1);
  failure_with<lambda::config<lambda::with_timeout<1>>>(
      instance, [file] { count_up(file), std::this_thread::sleep_for(1h); });
  CHECK(std::filesystem::file_size(file) == 2);
  if (is_sanitized) return;
  failure_with<lambda::config<lambda::with_memory<16>>>(
      instance, [file] { count_up(file), std::vector<char>(100 << 20, 'x'); });
  CHECK(std::filesystem::file_size(file) == 3);
}

TEST_CASE("A task that exceeds its time is ended, whatever it does, and others are unharmed") {
  if (!has_processes()) return;
  using config = lambda::config<lambda::with_timeout<1>>;
  auto instance = make_instance();
  std::vector<cppless::future<void>> slow;
  const auto begin = std::chrono::steady_clock::now();
  slow.push_back(cppless::async<config>(instance, [] { std::this_thread::sleep_for(1h); }));
  slow.push_back(cppless::async<config>(instance, [] {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    for (volatile bool forever = true; forever;) {
    }
  }));
  slow.push_back(cppless::async<config>(instance, [] { ::raise(SIGSTOP); }));
  std::vector<cppless::future<int>> others;
  for (int i = 0; i < 50; ++i) {
    others.push_back(cppless::async<config>(instance, [](int x) { return x; }, i));
  }
  for (int i = 0; i < 50; ++i) CHECK(others[i].get() == i);
  for (auto& each : slow) {
    const caught error = error_of([&] { each.get(); });
    CHECK(error.kind == error_kind::timeout);
    CHECK(error.says("timeout of 1 s"));
    CHECK(error.id != 0);
  }
  CHECK(std::chrono::steady_clock::now() - begin < (is_sanitized ? 60s : 15s));
}

TEST_CASE("A time limit counts from the start of the task, and is gone with it") {
  if (!runs_by_itself()) return;
  using config = lambda::config<lambda::with_timeout<1>>;
  auto instance = make_instance();
  // One after another on each worker: in all they take longer than each may.
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 6; ++i) {
    futures.push_back(cppless::async<config>(instance, [](int x) {
      std::this_thread::sleep_for(400ms);
      return x;
    }, i));
  }
  for (int i = 0; i < 6; ++i) CHECK(futures[i].get() == i);
  auto unlimited = cppless::async(instance, [] { std::this_thread::sleep_for(1300ms); });
  CHECK_NOTHROW(unlimited.get());
}

TEST_CASE("A task that exceeds its memory fails alone; one that keeps within it does not") {
  if (!has_processes() || is_sanitized) return;
  using config = lambda::config<lambda::with_memory<64>>;
  auto instance = make_instance();
  const auto fill = [](std::size_t megabytes) {
    const std::vector<char> data(megabytes << 20, 'm');
    return std::accumulate(data.begin(), data.end(), std::uint64_t{0}) / 'm';
  };
  for (int round = 0; round < 3; ++round) {
    auto within = cppless::async<config>(instance, fill, 40);
    auto beyond = cppless::async<config>(instance, fill, 200);
    auto unlimited = cppless::async(instance, fill, 200);
    CHECK(within.get() == std::size_t{40} << 20);
    const caught error = error_of([&] { beyond.get(); });
    CHECK(error.kind == error_kind::task_failed);
    CHECK(error.says("limit of 64 MB"));
    CHECK(error.remote_type == "std::bad_alloc");
    CHECK(unlimited.get() == std::size_t{200} << 20);
  }
}

TEST_CASE("A deadline ends tasks that wait and tasks that run") {
  if (!runs_by_itself()) return;
  using config = lambda::config<lambda::with_deadline<1>>;
  auto instance = make_instance();
  const auto begin = std::chrono::steady_clock::now();
  auto running = cppless::async<config>(instance, [] { run_for_ever(); });
  std::vector<cppless::future<void>> blockers, waiting;
  for (unsigned i = 0; i < worker_count(); ++i) {
    blockers.push_back(cppless::async(instance, [] { std::this_thread::sleep_for(2500ms); }));
  }
  for (int i = 0; i < 20; ++i) waiting.push_back(cppless::async<config>(instance, [] {}));
  const caught error = error_of([&] { running.get(); });
  CHECK(error.kind == error_kind::timeout);
  CHECK(error.says("deadline"));
  CHECK(error.says("1 s"));
  for (auto& each : waiting) {
    const caught late = error_of([&] { each.get(); });
    // Those that found a worker in time have a result.
    if (late.any) CHECK(late.kind == error_kind::timeout);
  }
  CHECK(std::chrono::steady_clock::now() - begin < 2400ms);
  for (auto& each : blockers) each.get();
  CHECK_NOTHROW(cppless::async<config>(instance, [] {}).get());
}

TEST_CASE("Workers killed from outside are replaced, idle and busy ones") {
  if (!has_processes()) return;
  auto instance = make_instance();
  for (int round = 0; round < 10; ++round) {
    const pid_t pid = cppless::async(instance, [] { return ::getpid(); }).get();
    CHECK(pid != ::getpid());
    auto busy = cppless::async(instance, [](int x) {
      std::this_thread::sleep_for(20ms);
      return x;
    }, round);
    if (round % 2 == 0) std::this_thread::sleep_for(10ms);
    ::kill(pid, SIGKILL);
    CHECK(busy.get() == round);
  }
}

TEST_CASE("An instance leaves no process, descriptor or mapping behind") {
  if (!has_processes()) return;
  { auto first = make_instance(); }
  const std::size_t before = open_descriptors();
  std::vector<pid_t> pids;
  for (int i = 0; i < 5; ++i) {
    auto instance = make_instance();
    for (const pid_t pid :
         cppless::map(instance, std::vector<int>(8), [](int) { return ::getpid(); })) {
      pids.push_back(pid);
    }
    if (i == 2) error_of([&] { cppless::async(instance, [] { die(0); }).get(); });
    if (i == 3) (void)cppless::async(instance, [] { std::this_thread::sleep_for(1h); });
  }
  CHECK(open_descriptors() == before);
  for (const pid_t pid : pids) CHECK_FALSE(is_running(pid));
  std::ifstream maps("/proc/self/maps");
  int shared = 0;
  for (std::string line; std::getline(maps, line);) {
    shared += line.find("cppless-worker") != std::string::npos ? 1 : 0;
  }
  // The default instance, used by other tests of this program, may hold its workers'.
  CHECK(shared <= static_cast<int>(worker_count()) + 300);
}

TEST_CASE("A worker has the host's environment, /dev/null as input and fresh globals") {
  if (!has_processes()) return;
  ::setenv("CPPLESS_TEST_VARIABLE", "passed on", 1);
  global_counter = 100;
  auto instance = make_instance();
  auto read = cppless::async(instance, [] { return variable("CPPLESS_TEST_VARIABLE"); });
  if (!is_remote()) CHECK(read.get() == "passed on");
  CHECK(cppless::async(instance, [] { return variable("CPPLESS_WORKER_INDEX"); }).get() == "");
  CHECK(cppless::async(instance, cppless::fn<+[] { return global_counter; }>).get() == 7);
  auto input = cppless::async(instance, [] {
    struct stat in {}, null {};
    ::fstat(0, &in);
    ::stat("/dev/null", &null);
    char byte = 0;
    return in.st_rdev == null.st_rdev && ::read(0, &byte, 1) == 0;
  });
  CHECK(input.get());
  CHECK(cppless::async(instance, [] { return std::filesystem::current_path().string(); }).get() ==
        std::filesystem::current_path().string());
  CHECK(cppless::async(instance, [] { return std::system("exit 4"); }).get() == 4 << 8);
}

TEST_CASE("Descriptors of the host are not passed on to workers") {
  if (!has_processes()) return;
  const scratch files;
  const int descriptor = ::open(files.file("open").c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(descriptor >= 0);
  const int high = ::fcntl(descriptor, F_DUPFD, 500);  // not dup2: it would close who is there
  auto instance = make_instance();
  auto found = cppless::async(instance, [] {
    int beyond = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      const std::string target = std::filesystem::read_symlink(each.path()).string();
      if (target.find("/open") != std::string::npos) ++beyond;
    }
    return beyond;
  });
  CHECK(found.get() == 0);
  ::close(descriptor);
  ::close(high);
}

TEST_CASE("A host that ignores the end of its children is served as well") {
  if (!has_processes()) return;
  const auto previous = ::signal(SIGCHLD, SIG_IGN);
  {
    auto instance = make_instance();
    CHECK(failure_with<once>(instance, [] { die(0); }).kind == error_kind::lost);
    CHECK(cppless::async(instance, [] { return 2; }).get() == 2);
  }
  ::signal(SIGCHLD, previous);
}

TEST_CASE("A task that closes its output, or fills it, is not held up") {
  if (!has_processes()) return;
  auto instance = make_instance();
  CHECK(cppless::async(instance, [] { return ::close(1) + ::close(2); }).get() == 0);
  for (int i = 0; i < 6; ++i) CHECK(cppless::async(instance, [](int x) { return x; }, i).get() == i);
}

TEST_CASE("Settings that make no sense are rejected with the value and the limit") {
  const std::string workers = variable("CPPLESS_WORKERS");
  const std::string dispatcher = variable("CPPLESS_DISPATCHER");
  const cppless::local_dispatcher local;
  const char* const senseless[] = {"0", "-1", "many", "3x", "100000", "99999999999999999999"};
  for (const char* const each : senseless) {
    CAPTURE(each);
    ::setenv("CPPLESS_WORKERS", each, 1);
    const caught error = error_of([&] { local.create_instance(); });
    CHECK(error.kind == error_kind::rejected);
    CHECK(error.says("512"));
  }
  ::setenv("CPPLESS_WORKERS", workers.c_str(), 1);
  ::setenv("CPPLESS_DISPATCHER", "cloudy", 1);
  const caught error = error_of([] { cppless::default_dispatcher().create_instance(); });
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("cloudy"));
  ::setenv("CPPLESS_DISPATCHER", dispatcher.c_str(), 1);
  CHECK(error_of([] { cppless::local_dispatcher({.workers = 4000}).create_instance(); }).says("4000"));
}

TEST_SUITE_END();

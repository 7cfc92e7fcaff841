// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "under_test.hpp"

namespace {

using namespace std::chrono_literals;
using cppless::detached_state;
namespace files = std::filesystem;

bool is_local() { return has_processes() && !is_remote(); }

/// A folder of detached tasks for one test.
class spool {
 public:
  spool() {
    std::string pattern = "/tmp/cppless-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::setenv("CPPLESS_DETACHED_DIR", path_.c_str(), 1);
  }
  ~spool() {
    ::unsetenv("CPPLESS_DETACHED_DIR");
    files::remove_all(path_);
  }
  const std::string& path() const { return path_; }
  std::string file(const cppless::detached_id& id, const char* name) const {
    return path_ + "/" + id.to_string() + "/" + name;
  }
  bool is_empty() const { return files::is_empty(path_); }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void await_end(const cppless::detached_id& id) {
  while (state_of(id) == detached_state::running) std::this_thread::sleep_for(1ms);
}

/// Of the process whose file this is, until it has written it.
pid_t pid_in(const std::string& path) {
  for (;;) {
    const std::string text = content(path);
    if (!text.empty() && text.back() == '\n') return std::stoi(text);
    std::this_thread::sleep_for(1ms);
  }
}

std::string large(std::size_t size) { return std::string(size, 'x') + "end"; }

}  // namespace

TEST_CASE("A detached task's result is collected once, by its id") {
  if (!is_local()) return;
  const spool own;
  int factor = 6;
  cppless::detached_id id = [&] {
    auto instance = make_instance();
    return cppless::dispatch_detached(
        instance, [factor](const std::vector<int>& given) { return factor * given.at(1); },
        std::vector{0, 7});
  }();
  const auto same = cppless::detached_id::parse(id.to_string());
  CHECK(same == id);
  CHECK(cppless::collect<int>(same) == 42);
  CHECK(state_of(id) == detached_state::unknown);
  const caught error = error_of([&] { cppless::collect<int>(id); });
  CHECK(error.kind == cppless::error_kind::rejected);
  CHECK(error.says("was collected already"));
  CHECK(own.is_empty());
}

TEST_CASE("A detached task runs once, however soon its result is collected") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const std::string path = own.path() + "/runs";
  for (int i = 1; i <= 20; ++i) {
    const auto id = cppless::dispatch_detached(instance, [path] {
      std::ofstream(path, std::ios::app) << 'x';
      return ::getppid();
    });
    const pid_t keeper = cppless::collect<pid_t>(id);
    while (::kill(keeper, 0) == 0 && content("/proc/" + std::to_string(keeper) + "/stat").find(") Z") ==
                                         std::string::npos) {
      std::this_thread::sleep_for(1ms);
    }
    CHECK(content(path).size() == static_cast<std::size_t>(i));
  }
}

TEST_CASE("Whoever collects a detached task that still runs waits as long as he likes") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const cppless::detached_id id =
      cppless::dispatch_detached(instance, [path = own.path() + "/go"] {
        while (::access(path.c_str(), F_OK) != 0) std::this_thread::sleep_for(1ms);
      });
  CHECK(state_of(id) == detached_state::running);
  CHECK_FALSE(cppless::collect_for<void>(id, 5ms));
  CHECK_FALSE(forget(id));
  std::ofstream(own.path() + "/go") << "go";
  CHECK(cppless::collect_for<void>(id, 1h));
}

TEST_CASE("A detached task fails with its exception's type and text, as often as one asks") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const cppless::detached_id id = cppless::dispatch_detached(
      instance, [](int x) -> int { throw std::out_of_range(std::to_string(x)); }, 7);
  for (int i = 0; i < 2; ++i) {
    const caught error = error_of([&] { cppless::collect<int>(id); });
    CHECK(error.kind == cppless::error_kind::task_failed);
    CHECK(error.remote_type == "std::out_of_range");
    CHECK(error.says("threw std::out_of_range: 7"));
  }
  CHECK(state_of(id) == detached_state::failed);
  CHECK(forget(id));
  CHECK(own.is_empty());
}

TEST_CASE("A detached task is held to its limits") {
  if (!is_local()) return;
  const spool own;
  using config = cppless::lambda::config<cppless::lambda::with_timeout<1>>;
  auto instance = make_instance();
  const auto slow = cppless::dispatch_detached<config>(
      instance, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  const caught late = error_of([&] { cppless::collect<void>(slow); });
  CHECK(late.kind == cppless::error_kind::timeout);
  CHECK(late.says("timeout of 1 s"));
  if (is_sanitized) return;  // which reserve more memory than any limit
  using small = cppless::lambda::config<cppless::lambda::with_memory<64>>;
  const auto greedy = cppless::dispatch_detached<small>(
      instance, [](std::size_t size) { return large(size).size(); }, std::size_t{1} << 28);
  CHECK(error_of([&] { cppless::collect<std::size_t>(greedy); }).says("its limit of 64 MB"));
}

TEST_CASE("A detached task whose process dies is started again, and lost after its last attempt") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  using twice = cppless::lambda::config<cppless::lambda::with_attempts<2>>;
  const auto die = [](const std::string& path, int times) {
    std::ofstream(path, std::ios::app) << 'x';
    if (static_cast<int>(std::ifstream(path).get()) == 'x' &&
        static_cast<int>(std::filesystem::file_size(path)) <= times) {
      ::kill(::getpid(), SIGKILL);
    }
    return std::filesystem::file_size(path);
  };
  const auto again = cppless::dispatch_detached<twice>(instance, die, own.path() + "/a", 1);
  CHECK(cppless::collect<std::uintmax_t>(again) == 2);
  const auto never = cppless::dispatch_detached<twice>(instance, die, own.path() + "/b", 9);
  const caught error = error_of([&] { cppless::collect<std::uintmax_t>(never); });
  CHECK(error.kind == cppless::error_kind::lost);
  CHECK(error.says("was killed by signal 9"));
  CHECK(error.says("attempt 2 of 2"));
}

TEST_CASE("A detached task is lost if the process that keeps it is killed, and runs no longer") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const std::string path = own.path() + "/pid";
  const auto id = cppless::dispatch_detached(instance, [path] {
    std::ofstream(path) << ::getpid() << ' ' << ::getppid() << std::endl;
    std::this_thread::sleep_for(std::chrono::hours(1));
  });
  const pid_t task = pid_in(path);
  const pid_t keeper = std::stoi(content(path).substr(content(path).find(' ')));
  ::kill(keeper, SIGKILL);
  const caught error = error_of([&] { cppless::collect<void>(id); });
  CHECK(error.kind == cppless::error_kind::lost);
  CHECK(error.says("was killed"));
  CHECK(state_of(id) == detached_state::lost);
  while (::kill(task, 0) == 0 && content("/proc/" + std::to_string(task) + "/stat").find(") Z") ==
                                     std::string::npos) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(forget(id));
}

TEST_CASE("A detached task that is cancelled ends and says so") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const auto id = cppless::dispatch_detached(
      instance, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
  CHECK(cancel(id));
  CHECK(error_of([&] { cppless::collect<void>(id); }).kind == cppless::error_kind::cancelled);
  CHECK_FALSE(cancel(id));
}

TEST_CASE("A detached task has no terminal, and prints into its log") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  ::setenv("CPPLESS_TEST_SECRET", "hush-hush", 1);
  const auto id = cppless::dispatch_detached(
      instance,
      [](const std::string&) {
        std::printf("printed\n");
        std::fprintf(stderr, "and complained\n");
        throw std::runtime_error(std::getchar() == EOF ? "nothing to read" : "something to read");
      },
      std::string("hush-hush"));
  await_end(id);
  ::unsetenv("CPPLESS_TEST_SECRET");
  CHECK(error_of([&] { cppless::collect<void>(id); }).says("nothing to read"));
  const std::string log = content(log_of(id));
  CHECK(log.find("printed\n") != std::string::npos);
  CHECK(log.find("and complained\n") != std::string::npos);
  // Neither the environment nor the arguments are written anywhere.
  for (const char* file : {"log", "result", "keeper"}) {
    CHECK(content(own.file(id, file)).find("hush-hush") == std::string::npos);
  }
}

TEST_CASE("A detached task dispatches tasks, and others that are detached") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const auto id = cppless::dispatch_detached(instance, [] {
    auto workers = make_instance();
    const auto other = cppless::dispatch_detached(workers, [] { return 2; });
    return cppless::async(workers, [] { return 40; }).get() + cppless::collect<int>(other);
  });
  CHECK(cppless::collect<int>(id) == 42);
  const auto inner = cppless::async(instance, [] {
                       auto workers = make_instance();
                       return cppless::dispatch_detached(workers, [] { return 7; }).to_string();
                     }).get();
  CHECK(cppless::collect<int>(cppless::detached_id::parse(inner)) == 7);
}

TEST_CASE("A damaged result is refused with its file's name") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const auto id = cppless::dispatch_detached(instance, [] { return large(1000); });
  await_end(id);
  const caught other = error_of([&] { cppless::collect<int>(id); });
  CHECK(other.kind == cppless::error_kind::rejected);
  CHECK(other.says("it cannot be collected as 'int'"));
  const std::string path = own.file(id, "result");
  CHECK(::truncate(path.c_str(), 500) == 0);
  const caught cut = error_of([&] { cppless::collect<std::string>(id); });
  CHECK(cut.kind == cppless::error_kind::rejected);
  CHECK(cut.says(path));
  CHECK(cut.says("damaged"));
}

TEST_CASE("A folder of detached tasks that others may enter or own is not used") {
  if (!is_local()) return;
  const spool own;
  auto instance = make_instance();
  const auto dispatch = [&] { cppless::dispatch_detached(instance, [] { return 1; }); };
  const auto some = cppless::detached_id::parse("0123456789abcdef0123456789abcdef");
  CHECK(::chmod(own.path().c_str(), 0750) == 0);
  for (const caught& error : {error_of(dispatch), error_of([&] { state_of(some); })}) {
    CHECK(error.kind == cppless::error_kind::rejected);
    CHECK(error.says("mode 0750"));
  }
  CHECK(::chmod(own.path().c_str(), 0700) == 0);
  CHECK(state_of(some) == detached_state::unknown);
  if (::geteuid() == 0) {
    CHECK(::chown(own.path().c_str(), 12345, 12345) == 0);
    CHECK(error_of(dispatch).says("belongs to user 12345"));
  }
  ::setenv("CPPLESS_DETACHED_DIR", "somewhere", 1);
  CHECK(error_of(dispatch).says("must be a path that begins with /"));
}

TEST_CASE("What is no id of a detached task is refused") {
  for (const char* text : {"", "7", "0123456789ABCDEF0123456789abcdef", "../../../etc/passwd"}) {
    CHECK(error_of([&] { cppless::detached_id::parse(text); }).kind ==
          cppless::error_kind::rejected);
  }
}

TEST_CASE("Dispatchers that cannot keep a result refuse detached tasks and say why") {
  if (is_local()) return;
  auto instance = make_instance();
  const caught error =
      error_of([&] { cppless::dispatch_detached(instance, [] { return 1; }); });
  CHECK(error.kind == cppless::error_kind::rejected);
  CHECK(error.says("cannot be detached"));
}

// SPDX-License-Identifier: Apache-2.0
/// What the tests of `cppless trace` look at: a program that says what its statistics say.

#include <cppless/cppless.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace lambda = cppless::lambda;

template <class T>
void say(const cppless::future<T>& of) {
  const cppless::execution_statistics& took = of.statistics();
  std::printf("%llu %d %u %lld %lld %lld %lld %llu\n", static_cast<unsigned long long>(took.id),
              took.cold, took.attempts, static_cast<long long>(took.queue.count()),
              static_cast<long long>(took.run.count()), static_cast<long long>(took.waited.count()),
              static_cast<long long>(took.total.count()),
              static_cast<unsigned long long>(took.peak_memory));
}

int twice(int x) {
  std::this_thread::sleep_for(std::chrono::microseconds(x % 7 * 50));
  return 2 * x;
}

void many(cppless::instance& on, int count) {
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < count; ++i) futures.push_back(cppless::async(on, cppless::fn<&twice>, i));
  for (const auto& each : futures) each.wait();
  for (const auto& each : futures) say(each);
}

int first_time_dies(std::string mark) {
  if (std::ifstream(mark).good()) return 1;
  std::ofstream(mark) << "tried";
  ::kill(::getpid(), SIGKILL);
  return 0;
}

int dies() {
  ::kill(::getpid(), SIGSEGV);
  return 0;
}

int throws(int x) { throw std::runtime_error("no \"" + std::to_string(x) + "\" <here>"); }

int hangs() {
  for (;;) ::pause();
}

/// One task of each kind of outcome.
void failures(cppless::instance& on, const std::string& mark) {
  using soon = lambda::config<lambda::with_timeout<1>>;
  using once = lambda::config<lambda::with_attempts<1>>;
  std::vector<cppless::future<int>> all;
  all.push_back(cppless::async(on, cppless::fn<&first_time_dies>, mark));
  all.push_back(cppless::async<once>(on, cppless::fn<&dies>));
  all.push_back(cppless::async(on, cppless::fn<&throws>, 7));
  all.push_back(cppless::async<soon>(on, cppless::fn<&hangs>));
  for (const auto& each : all) each.wait();
  all.push_back(cppless::async(on, cppless::fn<&hangs>));
  std::this_thread::sleep_for(50ms);
  all.back().cancel();
  all.back().wait();
  for (const auto& each : all) say(each);
}

int parent(int children) {
  cppless::instance on = cppless::default_dispatcher().create_instance();
  int sum = 0;
  const std::vector<int> all(children, 3);
  for (const int each : cppless::map(on, all, cppless::fn<&twice>)) sum += each;
  return sum;
}

void nested(cppless::instance& on) {
  auto sum = cppless::async(on, cppless::fn<&parent>, 4);
  sum.wait();
  say(sum);
  if (sum.get() != 24) std::exit(1);
}

}  // namespace

int main(int, char** words) {
  const std::string what = words[1];
  cppless::instance on = cppless::default_dispatcher().create_instance();
  if (what == "many") many(on, std::atoi(words[2]));
  if (what == "failures") failures(on, words[2]);
  if (what == "nested") nested(on);
  if (what == "exit") {
    many(on, 10);
    std::exit(3);
  }
  if (what == "throw") {
    many(on, 10);
    throw std::runtime_error("on purpose");
  }
  if (what == "hang") {
    many(on, 10);
    std::fflush(stdout);
    for (;;) ::pause();
  }
  return 0;
}

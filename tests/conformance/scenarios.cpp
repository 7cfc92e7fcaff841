// SPDX-License-Identifier: Apache-2.0
// Programs for host.py, which looks at them from outside: `cppless_scenarios NAME`.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

using namespace std::chrono_literals;

namespace {

// A program whose workers cannot start: something dies before main, but only in them.
struct poisoned_constructor {
  poisoned_constructor() {
    if (std::getenv("TEST_POISON") != nullptr && std::getenv("CPPLESS_WORKER_INDEX") != nullptr) {
      std::abort();
    }
  }
} const poison;

int say(const cppless::error& error) {
  std::cout << to_string(error.kind()) << ": " << error.what() << std::endl;
  return 0;
}

int rejected() {
  auto instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 5; ++i) futures.push_back(cppless::async(instance, [] { return 1; }));
  for (auto& each : futures) {
    try {
      each.get();
      return 1;
    } catch (const cppless::rejected& error) {
      say(error);
    }
  }
  try {
    cppless::async(instance, [] { return 2; }).get();
  } catch (const cppless::rejected& error) {
    return say(error);
  }
  return 1;
}

void tell_pids(cppless::instance& instance) {
  const auto pids = cppless::map(instance, std::vector<int>(6), [](int) {
    std::this_thread::sleep_for(50ms);
    return ::getpid();
  });
  std::cout << "host " << ::getpid();
  for (const int pid : pids) std::cout << ' ' << pid;
  std::cout << std::endl;
}

// Idle workers, and the host neither waits nor works.
int idle() {
  auto instance = cppless::local_dispatcher({.workers = 3}).create_instance();
  tell_pids(instance);
  std::this_thread::sleep_for(1h);
  return 0;
}

// All workers run a task that sleeps, and the host waits for them.
int waiting() {
  auto instance = cppless::local_dispatcher({.workers = 3}).create_instance();
  tell_pids(instance);
  for (int i = 0; i < 3; ++i) cppless::dispatch(instance, [] { std::this_thread::sleep_for(1h); });
  cppless::wait(instance, 3);
  return 0;
}

// As before, but the tasks wait for tasks of their own.
int nesting() {
  auto instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  tell_pids(instance);
  auto future = cppless::async(instance, [] {
    auto inner = cppless::local_dispatcher().create_instance();
    cppless::async(inner, [] {
      std::cout << "nested " << ::getpid() << std::endl;
      std::this_thread::sleep_for(1h);
    }).get();
  });
  future.get();
  return 0;
}

// Workers that compute when the host ends.
int busy() {
  auto instance = cppless::local_dispatcher({.workers = 3}).create_instance();
  tell_pids(instance);
  for (int i = 0; i < 3; ++i) {
    cppless::dispatch(instance, [] {
      for (volatile bool forever = true; forever;) {
      }
    });
  }
  cppless::wait(instance, 3);
  return 0;
}

// main returns while tasks of the default instance run.
int leaves() {
  tell_pids(cppless::default_instance());
  for (int i = 0; i < 5; ++i) {
    (void)cppless::async(cppless::default_instance(), [] { std::this_thread::sleep_for(1h); });
  }
  std::this_thread::sleep_for(50ms);
  return 0;
}

struct talker {
  int number;
  int operator()(int lines) const {
    for (int i = 0; i < lines; ++i) {
      std::printf("out %d line %d of a text that is long enough to be cut in two\n", number, i);
      std::cerr << "err " << number << " line " << i << "\n";
    }
    return number;
  }
};

struct whisperer {
  int number;
  int operator()() const {
    std::cout << "no end " << number;
    return number;
  }
};

int output() {
  auto instance = cppless::local_dispatcher({.workers = 3}).create_instance();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 20; ++i) futures.push_back(cppless::async(instance, talker{i}, 50));
  for (int i = 0; i < 20; ++i) futures.push_back(cppless::async(instance, whisperer{i}));
  for (auto& each : futures) each.get();
  for (int i = 100; i < 120; ++i) {
    const int number = cppless::async(instance, whisperer{i}).get();
    std::cerr << "host has seen " << number << std::endl;
  }
  auto dies = cppless::async(instance, [] {
    std::cerr << "last words" << std::endl;
    std::abort();
  });
  try {
    dies.get();
  } catch (const cppless::lost&) {
    std::cerr << "host has seen the end" << std::endl;
  }
  std::cout << "result" << std::endl;
  return 0;
}

// A task without limits of its own that takes more than Lambda's defaults.
int large() {
  auto instance = cppless::local_dispatcher({.workers = 1}).create_instance();
  try {
    std::cout << cppless::async(instance, [] {
                   std::vector<char> data(std::size_t{1200} << 20);
                   asm volatile("" : : "r"(data.data()) : "memory");  // really needed
                   return data.size() >> 20;
                 }).get()
              << " MB" << std::endl;
  } catch (const cppless::error& error) {
    say(error);
  }
  return 0;
}

int slow() {
  auto instance = cppless::local_dispatcher({.workers = 1}).create_instance();
  try {
    cppless::async(instance, [] { std::this_thread::sleep_for(11s); }).get();
    std::cout << "finished" << std::endl;
  } catch (const cppless::error& error) {
    say(error);
  }
  return 0;
}

// A task that waits for a file, for which the program does not.
int detach() {
  auto instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  const std::string gate = std::getenv("TEST_GATE");
  const auto id = cppless::dispatch_detached(instance, [gate](int x) {
    std::cout << "waiting in " << std::getenv("PWD") << std::endl;
    while (::access(gate.c_str(), F_OK) != 0) std::this_thread::sleep_for(1ms);
    return std::to_string(x) + " in session " + std::to_string(::getsid(0));
  }, 42);
  std::cout << id.to_string() << std::endl;
  return 0;
}

int collect() {
  const auto id = cppless::detached_id::parse(std::getenv("TEST_ID"));
  try {
    std::cout << cppless::collect<std::string>(id) << std::endl;
  } catch (const cppless::error& error) {
    say(error);
  }
  return 0;
}

struct scenario {
  std::string_view name;
  int (*run)();
};

constexpr scenario scenarios[] = {
    {"rejected", rejected}, {"idle", idle},     {"waiting", waiting}, {"nesting", nesting},
    {"busy", busy},         {"leaves", leaves}, {"output", output},   {"large", large},
    {"slow", slow},         {"detach", detach}, {"collect", collect},
};

}  // namespace

int main(int argc, char** argv) {
  for (const scenario& each : scenarios) {
    if (argc == 2 && each.name == argv[1]) return each.run();
  }
  std::cerr << "usage: cppless_scenarios NAME\n";
  return 2;
}

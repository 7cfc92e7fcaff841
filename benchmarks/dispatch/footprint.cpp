// SPDX-License-Identifier: Apache-2.0
/// What cppless takes while nothing happens, and while much waits: CPU time of an idle host and its
/// idle workers, and the host's memory per queued task with a million of them.

#include <sys/resource.h>
#include <unistd.h>

#include <cppless/cppless.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "workload.hpp"

namespace {

namespace fs = std::filesystem;

struct process {
  long parent = 0;
  long ticks = 0;  // of CPU, in sysconf(_SC_CLK_TCK) per second
};

/// All processes of the machine by id, from /proc/PID/stat.
std::map<long, process> processes() {
  std::map<long, process> result;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line) || line.rfind(')') == std::string::npos) {
      continue;
    }
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string skipped;
    process found;
    long user = 0, system = 0;
    fields >> skipped >> found.parent;
    for (int i = 0; i < 9; ++i) {
      fields >> skipped;
    }
    fields >> user >> system;
    found.ticks = user + system;
    result[std::atol(entry.path().filename().c_str())] = found;
  }
  return result;
}

/// CPU milliseconds of all descendants of this process, to the kernel's tick (10 ms).
double descendants_cpu_ms(int& count) {
  const auto all = processes();
  long ticks = 0;
  count = 0;
  for (const auto& [id, each] : all) {
    long ancestor = each.parent;
    for (int depth = 0; depth < 8 && ancestor > 1 && ancestor != getpid(); ++depth) {
      const auto found = all.find(ancestor);
      ancestor = found == all.end() ? 0 : found->second.parent;
    }
    if (ancestor == getpid()) {
      ticks += each.ticks;
      ++count;
    }
  }
  return 1000.0 * static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1000.0 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1000.0;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

/// Resident bytes of this process, shared memory that it touched included.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void call_many(cppless::instance& instance, bench::answer_sheet& answers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    cppless::dispatch(
        instance, [](std::uint64_t n) { return bench::answer_of(n, {}); }, answers[i],
        {std::uint64_t{i}});
  }
}

void measure_idle(bench::suite& suite) {
  constexpr bench::unit_of_measure ms_per_s{"ms CPU/s"};
  cppless::instance instance = cppless::local_dispatcher({.workers = 2}).create_instance();
  bench::answer_sheet answers;
  answers.reset(1000);
  call_many(instance, answers, 1000);
  cppless::wait(instance, 1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::vector<double> host, workers;
  int processes = 0;
  for (int i = 0; i < suite.repetitions(); ++i) {
    constexpr int idle_seconds = 2;
    const double workers_before = descendants_cpu_ms(processes);
    const double host_before = own_cpu_ms();
    std::this_thread::sleep_for(std::chrono::seconds(idle_seconds));
    host.push_back((own_cpu_ms() - host_before) / idle_seconds);
    workers.push_back((descendants_cpu_ms(processes) - workers_before) / idle_seconds);
  }
  suite.record("idle", "cppless, host", ms_per_s, host, answers.right({}));
  suite.record("idle", "cppless, 2 workers", ms_per_s, workers, processes >= 2);
}

void measure_queue(bench::suite& suite) {
  constexpr std::size_t count = 1'000'000;
  cppless::instance instance = cppless::local_dispatcher({.workers = 1}).create_instance();
  bench::answer_sheet answers;
  answers.reset(count);  // touched: not counted
  answers[0] = 0;
  call_many(instance, answers, 1000);
  cppless::wait(instance, 1000);
  answers.reset(count);
  const double before = resident_bytes();
  double queued = 0;
  const double seconds = bench::seconds([&] {
    call_many(instance, answers, count);
    queued = resident_bytes();
    cppless::wait(instance, count);
  });
  const bool right = answers.right({});
  suite.record("a million queued tasks", "cppless, host memory", bench::unit::bytes_per_task,
               {(queued - before) / count}, right);
  suite.record("a million queued tasks, time of each", "cppless", bench::unit::us_per_call,
               {seconds * 1e6 / count}, right);
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("dispatch_footprint", argc, argv);
  if (suite.wants("a million queued tasks")) {
    measure_queue(suite);
  }
  if (suite.wants("idle")) {
    measure_idle(suite);
  }
  return suite.finish();
}

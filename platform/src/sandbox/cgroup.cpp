// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace platform::sandbox {
namespace {

namespace fs = std::filesystem;
constexpr const char* controllers[] = {"memory", "cpu", "pids", "freezer"};
constexpr const char* subtree_prefix = "cppless-platform-";
constexpr std::uint64_t processes_at_most = 1024;  // as on AWS
constexpr std::uint64_t cpu_period_us = 20'000;
constexpr std::uint64_t megabytes_per_cpu = 1769;

bool put(int directory, const std::string& file, const std::string& text) {
  const int fd = ::openat(directory, file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

std::string text_at(int fd) {
  char text[512];
  const ssize_t count = fd < 0 ? 0 : ::pread(fd, text, sizeof text, 0);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Mount point of a v1 controller or of v2 ("").
std::string mount_of(const std::string& controller) {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string what, where, type, options;
    words >> what >> where >> type >> options;
    if (controller.empty() && type == "cgroup2") return where;
    if (!controller.empty() && type == "cgroup" && ("," + options + ",").find("," + controller + ",") != options.npos)
      return where;
  }
  return {};
}

/// This process's group in the hierarchy of a v1 controller or of v2 ("").
std::string own_group(const std::string& controller) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? line.starts_with("0::") : ("," + names + ",").find("," + controller + ",") != names.npos)
      return line.substr(second + 1);
  }
  return "/";
}

void kill_everything(const fs::path& group) {
  std::ofstream(group / "freezer.state") << "THAWED";
  std::ofstream(group / "cgroup.freeze") << "0";
  std::ifstream processes(group / "cgroup.procs");
  for (long pid = 0; processes >> pid;)
    if (pid > 0) ::kill(static_cast<pid_t>(pid), SIGKILL);
}

void remove_subtree(const fs::path& subtree) {
  std::error_code error;
  for (int attempt = 0; attempt < 100; ++attempt) {
    bool empty = true;
    for (const auto& each : fs::directory_iterator(subtree, error)) {
      if (!each.is_directory()) continue;
      kill_everything(each.path());
      if (::rmdir(each.path().c_str()) != 0) empty = false;
    }
    if (empty && (::rmdir(subtree.c_str()) == 0 || errno == ENOENT)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// What servers that were killed left behind.
void remove_stale(const fs::path& parent) {
  std::error_code error;
  for (const auto& each : fs::directory_iterator(parent, error)) {
    const std::string name = each.path().filename();
    if (!name.starts_with(subtree_prefix)) continue;
    const pid_t owner = static_cast<pid_t>(number(name.substr(std::strlen(subtree_prefix))));
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) remove_subtree(each.path());
  }
}

}  // namespace

cgroups cgroups::make(std::vector<std::string>& missing) {
  cgroups made;
  const std::string name = subtree_prefix + std::to_string(::getpid());
  const auto add = [&](const std::string& controller, const fs::path& parent) {
    remove_stale(parent);
    const fs::path path = parent / name;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return false;
    const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return false;
    made.roots_.push_back({controller, path, directory});
    return true;
  };
  for (const char* controller : controllers) {
    const std::string mount = mount_of(controller);
    if (!mount.empty() && add(controller, mount + own_group(controller))) made.version_ = 1;
  }
  if (const std::string mount = mount_of(""); made.version_ == 0 && !mount.empty()) {
    const fs::path parent = mount + own_group("");
    std::string available;
    std::getline(std::ifstream(parent / "cgroup.controllers"), available);
    if (add("", parent)) {
      made.version_ = 2;
      const int up = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      for (const char* controller : {"memory", "cpu", "pids"}) {
        const std::string enable = std::string("+") + controller;
        if ((" " + available + " ").find(std::string(" ") + controller + " ") == available.npos) continue;
        if (put(up, "cgroup.subtree_control", enable) &&
            put(made.roots_[0].directory, "cgroup.subtree_control", enable))
          made.roots_[0].controller += std::string(controller) + ",";
      }
      ::close(up);
      made.roots_[0].controller += "freezer,";
    }
  }
  if (!made.has("memory")) missing.push_back("no memory cgroup can be written: memory is limited by RLIMIT_DATA, and its peak is a guess");
  if (!made.has("cpu")) missing.push_back("no cpu cgroup can be written: functions are not slowed down to their share");
  if (!made.has("pids")) missing.push_back("no pids cgroup can be written: the number of processes is limited by RLIMIT_NPROC");
  if (!made.has("freezer")) missing.push_back("no cgroup freezer: idle environments are stopped with SIGSTOP");
  return made;
}

std::string cgroups::description() const {
  nlohmann::json all = nlohmann::json::array();
  for (const root& each : roots_) all.push_back({each.controller, each.path});
  return nlohmann::json{version_, all}.dump();
}

cgroups cgroups::open(const std::string& description) {
  const auto parsed = nlohmann::json::parse(description);
  cgroups made;
  made.version_ = parsed.at(0);
  for (const auto& each : parsed.at(1)) {
    const std::string path = each.at(1);
    made.roots_.push_back({each.at(0), path, ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)});
  }
  return made;
}

const cgroups::root* cgroups::find(const char* controller) const {
  for (const root& each : roots_)
    if (version_ == 1 ? each.controller == controller
                      : each.controller.find(std::string(controller) + ",") != each.controller.npos)
      return &each;
  return nullptr;
}

bool cgroups::has(const char* controller) const { return find(controller) != nullptr; }

std::vector<int> cgroups::create(const std::string& name, std::uint64_t memory_bytes) const {
  std::vector<int> doors;
  for (const root& each : roots_) {
    if (::mkdirat(each.directory, name.c_str(), 0755) != 0 && errno != EEXIST) continue;
    const std::string limit = std::to_string(memory_bytes);
    if (version_ == 1 && each.controller == "memory") {
      put(each.directory, name + "/memory.limit_in_bytes", limit);
      put(each.directory, name + "/memory.memsw.limit_in_bytes", limit);
    } else if (version_ == 2 && has("memory")) {
      put(each.directory, name + "/memory.max", limit);
      put(each.directory, name + "/memory.swap.max", "0");
    }
    if (version_ == 1 ? each.controller == "pids" : has("pids"))
      put(each.directory, name + "/pids.max", std::to_string(processes_at_most));
    // A thread that moves itself by "tasks" takes no global lock; by "cgroup.procs" it waits an RCU
    // grace period, milliseconds.
    const std::string door = name + (version_ == 1 ? "/tasks" : "/cgroup.procs");
    if (const int fd = ::openat(each.directory, door.c_str(), O_WRONLY | O_CLOEXEC); fd >= 0) doors.push_back(fd);
  }
  return doors;
}

bool cgroups::remove(const std::string& name) const {
  bool gone = true;
  for (const root& each : roots_)
    if (::unlinkat(each.directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) gone = false;
  return gone;
}

void cgroups::remove_all() const {
  // The freezer first: elsewhere kills would wait for it.
  if (const root* freezer = find("freezer")) remove_subtree(freezer->path);
  for (const root& each : roots_) remove_subtree(each.path);
}

cgroups::handle cgroups::open_handle(const std::string& name) const {
  handle made;
  const auto open = [&](const char* controller, const char* v1, const char* v2, int flags) {
    const root* in = find(controller);
    if (in == nullptr) return -1;
    return ::openat(in->directory, (name + "/" + (version_ == 1 ? v1 : v2)).c_str(), flags | O_CLOEXEC);
  };
  made.freeze = open("freezer", "freezer.state", "cgroup.freeze", O_WRONLY);
  made.peak = open("memory", "memory.max_usage_in_bytes", "memory.peak", O_RDONLY);
  made.oom = open("memory", "memory.oom_control", "memory.events", O_RDONLY);
  made.cpu = open("cpu", "cpu.cfs_quota_us", "cpu.max", O_WRONLY);
  if (version_ == 1 && made.cpu >= 0)
    put(find("cpu")->directory, name + "/cpu.cfs_period_us", std::to_string(cpu_period_us));
  return made;
}

void cgroups::limit_cpu(const handle& group, std::uint64_t memory_mb) const {
  if (group.cpu < 0) return;
  const std::string quota = std::to_string(std::max<std::uint64_t>(1000, cpu_period_us * memory_mb / megabytes_per_cpu));
  const std::string text = version_ == 1 ? quota : quota + " " + std::to_string(cpu_period_us);
  [[maybe_unused]] const auto written = ::pwrite(group.cpu, text.data(), text.size(), 0);
}

void cgroups::freeze(const handle& group, bool frozen) const {
  const std::string_view text = version_ == 1 ? (frozen ? "FROZEN" : "THAWED") : (frozen ? "1" : "0");
  [[maybe_unused]] const auto written = ::pwrite(group.freeze, text.data(), text.size(), 0);
}

std::uint64_t cgroups::peak_bytes(const handle& group) const { return number(text_at(group.peak)); }

std::uint64_t cgroups::oom_kills(const handle& group) const {
  const std::string text = text_at(group.oom);
  const auto at = text.find("oom_kill ");
  return at == text.npos ? 0 : number(std::string_view(text).substr(at + 9));
}

}  // namespace platform::sandbox

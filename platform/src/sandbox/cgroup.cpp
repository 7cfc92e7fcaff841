// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <dirent.h>
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

int open_directory(int at, const char* name) { return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

void kill_everything(int subtree, const std::string& group) {
  put(subtree, group + "/freezer.state", "THAWED");
  put(subtree, group + "/cgroup.freeze", "0");
  const int fd = ::openat(subtree, (group + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC);
  if (FILE* processes = fd < 0 ? nullptr : ::fdopen(fd, "r")) {
    for (int pid = 0; std::fscanf(processes, "%d", &pid) == 1;)
      if (pid > 0) ::kill(pid, SIGKILL);
    std::fclose(processes);
  }
}

/// By descriptors: where the spawner lives there are no paths to it.
void remove_subtree(int parent, const char* name) {
  const int subtree = open_directory(parent, name);
  if (subtree < 0) return;
  for (int attempt = 0; attempt < 100; ++attempt) {
    bool empty = true;
    DIR* groups = ::fdopendir(open_directory(subtree, "."));
    while (const dirent* each = groups ? ::readdir(groups) : nullptr) {
      if (each->d_type != DT_DIR || each->d_name[0] == '.') continue;
      kill_everything(subtree, each->d_name);
      if (::unlinkat(subtree, each->d_name, AT_REMOVEDIR) != 0) empty = false;
    }
    if (groups) ::closedir(groups);
    if (empty && (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::close(subtree);
}

/// What servers that were killed left behind.
void remove_stale(const fs::path& parent) {
  const int directory = open_directory(AT_FDCWD, parent.c_str());
  std::error_code error;
  for (const auto& each : fs::directory_iterator(parent, error)) {
    const std::string name = each.path().filename();
    if (!name.starts_with(subtree_prefix)) continue;
    const pid_t owner = static_cast<pid_t>(number(name.substr(std::strlen(subtree_prefix))));
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) remove_subtree(directory, name.c_str());
  }
  ::close(directory);
}

}  // namespace

cgroups cgroups::make(std::vector<std::string>& missing) {
  cgroups made;
  const std::string name = subtree_prefix + std::to_string(::getpid());
  const auto add = [&](const std::string& controller, const fs::path& parent) {
    remove_stale(parent);
    const fs::path path = parent / name;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return false;
    made.roots_.push_back(open_root(controller, path));
    return made.roots_.back().directory >= 0;
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
      const int up = made.roots_[0].parent;
      for (const char* controller : {"memory", "cpu", "pids"}) {
        const std::string enable = std::string("+") + controller;
        if ((" " + available + " ").find(std::string(" ") + controller + " ") == available.npos) continue;
        if (put(up, "cgroup.subtree_control", enable) &&
            put(made.roots_[0].directory, "cgroup.subtree_control", enable))
          made.roots_[0].controller += std::string(controller) + ",";
      }
      made.roots_[0].controller += "freezer,";
    }
  }
  if (!made.has("memory")) missing.push_back("no memory cgroup can be written: memory is limited by RLIMIT_DATA, and its peak is not known");
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
    made.roots_.push_back(open_root(each.at(0), each.at(1)));
  }
  return made;
}

cgroups::root cgroups::open_root(const std::string& controller, const std::string& path) {
  const fs::path whole = path;
  return {controller, path, open_directory(AT_FDCWD, path.c_str()), open_directory(AT_FDCWD, whole.parent_path().c_str())};
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
  if (const root* freezer = find("freezer")) remove_subtree(freezer->parent, fs::path(freezer->path).filename().c_str());
  for (const root& each : roots_) remove_subtree(each.parent, fs::path(each.path).filename().c_str());
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

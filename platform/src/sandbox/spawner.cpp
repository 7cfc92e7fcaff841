// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spawner.hpp"

#include "sandbox/cgroup.hpp"
#include "sandbox/init.hpp"
#include "sandbox/protocol.hpp"
#include "sandbox/root.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace platform::sandbox {
namespace {

// One user per environment: none can signal or look into another, whatever namespaces do.
constexpr unsigned first_uid = 0x70000000;
constexpr unsigned uids = 1 << 20;

pid_t fork_into(unsigned long namespaces) {
  return static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

/// Whether a process with these namespaces can be made.
bool can_fork_into(unsigned long namespaces) {
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t child = fork_into(namespaces);
  if (child < 0) return false;
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return true;
}

bool write_text(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

/// Without root, a user namespace in which we are root gives the right to make the others.
bool become_root_of_namespace() {
  const auto uid = ::geteuid();
  const auto gid = ::getegid();
  return ::unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
         write_text("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
}

class spawner {
 public:
  explicit spawner(int server) : server_(server) {}

  bool configure() {
    std::string message;
    std::vector<int> none;
    if (!receive_message(server_, message, none)) return false;
    const auto settings = nlohmann::json::parse(message);
    groups_ = cgroups::open(settings.at("cgroups"));
    code_directory_ = settings.at("code");
    as_root_ = ::geteuid() == 0;
    const auto failed = [&](const std::string& what) {
      can_.missing.push_back(what + " (" + std::strerror(errno) + ")");
      return false;
    };
    const bool privileged = as_root_ || become_root_of_namespace() ||
                            failed("no user namespace for this user: functions run as this user, unconfined");
    can_.namespaces = privileged && (::unshare(CLONE_NEWNS) == 0 || failed("no mount namespaces")) &&
                      (enter_template_root(settings.at("run"), code_directory_) ||
                       failed("the file system of a sandbox cannot be mounted: functions see this machine's files")) &&
                      (can_fork_into(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) || failed("no pid, ipc and uts namespaces"));
    can_.network = can_.namespaces && (can_fork_into(CLONE_NEWNET) ||
                                       failed("no network namespaces: functions share this machine's network"));
    can_.user = can_.namespaces && (can_fork_into(CLONE_NEWUSER) || failed("no user namespaces of functions' own"));
    can_.seccomp = ::prctl(PR_GET_SECCOMP) == 0 || failed("no seccomp: functions may make any system call");
    can_.cgroup_version = groups_.version();
    can_.memory = groups_.has("memory");
    can_.cpu = groups_.has("cpu");
    can_.pids = groups_.has("pids");
    can_.freezer = groups_.has("freezer");
    ::signal(SIGCHLD, SIG_IGN);  // ended sandboxes need no waiting for
    return send_message(server_, to_message(can_));
  }

  void serve() {
    std::string message;
    std::vector<int> none;
    while (receive_message(server_, message, none)) start(to_start_request(message));
    groups_.remove_all();
  }

 private:
  void start(const start_request& request) {
    start_request changed = request;
    if (!can_.namespaces) {  // below init_task::directory
      for (std::string& word : changed.command)
        if (word.starts_with("/var/task/")) word = "." + word.substr(9);
      for (std::string& each : changed.environment)
        if (each == "LAMBDA_TASK_ROOT=/var/task") each = "LAMBDA_TASK_ROOT=.";
    }
    init_task task{&changed, &can_, server_, groups_.create("e" + std::to_string(request.id), request.memory_mb << 20),
                   first_uid + static_cast<unsigned>(request.id % uids), as_root_, !can_.memory,
                   can_.namespaces ? "/var/task" : code_directory_ + "/" + request.code};
    unsigned long namespaces = 0;
    if (can_.namespaces) namespaces |= CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (can_.network) namespaces |= CLONE_NEWNET;
    const pid_t child = fork_into(namespaces);
    if (child == 0) run_init(task);
    for (const int door : task.cgroups) ::close(door);
    if (child < 0) send_message(server_, std::to_string(request.id) + " clone: " + std::strerror(errno));
  }

  int server_;
  cgroups groups_;
  abilities can_;
  std::string code_directory_;
  bool as_root_ = false;
};

}  // namespace

int run_spawner(int socket) {
  ::prctl(PR_SET_NAME, "cppless-spawner");
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_IGN);  // the server decides
  spawner body(socket);
  if (!body.configure()) return 1;
  body.serve();
  return 0;
}

}  // namespace platform::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/init.hpp"

#include "sandbox/root.hpp"
#include "sandbox/seccomp.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace platform::sandbox {
namespace {

constexpr unsigned inner_uid = 993;
constexpr unsigned inner_gid = 990;

struct prepared {
  int control;
  int output;
  unsigned short runtime_port;
  unsigned short platform_port;
};

[[noreturn]] void give_up(int control, const char* what) {
  const std::string why = std::string(what) + ": " + std::strerror(errno);
  std::string message(reinterpret_cast<const char*>(&preparation_failed), sizeof preparation_failed);
  message += why;
  [[maybe_unused]] const auto sent = ::send(control, message.data(), message.size(), MSG_NOSIGNAL);
  ::_exit(1);
}

bool raise_loopback() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool done = ::ioctl(any, SIOCSIFFLAGS, &request) == 0;
  ::close(any);
  return done;
}

int listen_on(unsigned short& port) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  if (made < 0 || ::bind(made, reinterpret_cast<sockaddr*>(&where), size) != 0 || ::listen(made, 128) != 0 ||
      ::getsockname(made, reinterpret_cast<sockaddr*>(&where), &size) != 0)
    return -1;
  port = ntohs(where.sin_port);
  return made;
}

/// Makes what the server talks through and sends it there.
prepared connect_to_server(const init_task& task) {
  int control[2];
  int output[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) ::_exit(1);
  if (::pipe2(output, O_CLOEXEC) != 0) give_up(control[1], "pipe");
  if (task.can->network && !raise_loopback()) give_up(control[1], "loopback interface");
  prepared made{control[1], output[1], task.can->network ? runtime_port : static_cast<unsigned short>(0),
                task.can->network ? platform_port : static_cast<unsigned short>(0)};
  const int runtime = listen_on(made.runtime_port);
  const int platform = listen_on(made.platform_port);
  const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  std::string message = std::to_string(task.request->id);
  if (runtime < 0 || platform < 0 || self < 0 ||
      !send_message(task.server, message, {runtime, platform, output[0], control[0], self}))
    ::_exit(1);
  for (const int fd : {runtime, platform, output[0], control[0], self}) ::close(fd);
  ::close(task.server);
  return made;
}

void write_text(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  [[maybe_unused]] const auto count = ::write(fd, text.data(), text.size());
  ::close(fd);
}

/// Another user than anybody on this machine, in a user namespace whose only user that is.
const char* become_nobody(const init_task& task) {
  const unsigned uid = task.as_root ? task.uid : ::geteuid();
  const unsigned gid = task.as_root ? task.uid : ::getegid();
  if (task.as_root) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0) return "setgroups";
    if (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0) return "setresuid";
  }
  if (task.can->user) {
    if (task.as_root) ::prctl(PR_SET_DUMPABLE, 1);  // else /proc/self belongs to root after setuid
    if (::unshare(CLONE_NEWUSER) != 0) return "unshare user namespace";
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", std::to_string(inner_uid) + " " + std::to_string(uid) + " 1");
    write_text("/proc/self/gid_map", std::to_string(inner_gid) + " " + std::to_string(gid) + " 1");
    if (::getuid() != inner_uid) return "map user";
  }
  // Init shall not be looked into by what it starts, which is the same user.
  ::prctl(PR_SET_DUMPABLE, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return "capset";
  return nullptr;
}

void set_limit(int what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(what), &both);
}

void limit(const init_task& task) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_NOFILE, 1024);
  set_limit(RLIMIT_MEMLOCK, 64 * 1024);
  // Counted for the user in its namespace, which is the function's alone.
  if (!task.can->pids && (task.can->user || task.as_root)) set_limit(RLIMIT_NPROC, 1024);
  if (task.limit_memory) set_limit(RLIMIT_DATA, task.request->memory_mb << 20);
}

[[noreturn]] void execute(const init_task& task, const prepared& with) {
  std::vector<std::string> environment = task.request->environment;
  environment.push_back("AWS_LAMBDA_RUNTIME_API=127.0.0.1:" + std::to_string(with.runtime_port));
  environment.push_back("AWS_ENDPOINT_URL=http://127.0.0.1:" + std::to_string(with.platform_port));
  std::vector<char*> variables;
  for (std::string& each : environment) variables.push_back(each.data());
  variables.push_back(nullptr);
  std::vector<char*> words;
  for (const std::string& each : task.request->command) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);

  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::setpgid(0, 0);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, 0);
  ::dup2(with.output, 1);
  ::dup2(with.output, 2);
  ::close_range(3, ~0u, 0);
  if (!restrict_system_calls() && task.can->seccomp) ::_exit(126);
  ::execve(words[0], words.data(), variables.data());
  const int status = errno == ENOENT ? 127 : 126;
  ::dprintf(2, "%s: %s\n", words[0], std::strerror(errno));
  ::_exit(status);
}

/// Reaps orphans and obeys the server until the function ends or the server lets go.
void supervise(pid_t function, int control, int child_signals, bool is_first_process) {
  pollfd watched[] = {{control, POLLIN, 0}, {child_signals, POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents) {
      signalfd_siginfo ignored;
      [[maybe_unused]] const auto taken = ::read(child_signals, &ignored, sizeof ignored);
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended != function) continue;
        [[maybe_unused]] const auto sent = ::send(control, &status, sizeof status, MSG_NOSIGNAL);
        return;
      }
    }
    if (watched[0].revents) {
      char command = 0;
      if (::recv(control, &command, 1, 0) <= 0) return;
      // Where there is no freezer: every process of the namespace but this one. Without a namespace
      // that would be whatever the user runs.
      ::kill(is_first_process ? -1 : -function, command == 'F' ? SIGSTOP : SIGCONT);
    }
  }
}

}  // namespace

void run_init(const init_task& task) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_DFL);
  const prepared with = connect_to_server(task);
  for (const int door : task.cgroups) {
    if (::write(door, "0", 1) != 1) give_up(with.control, "enter cgroup");
    ::close(door);
  }
  if (task.can->namespaces) {
    if (const char* failed = complete_root(task.request->code, task.request->ephemeral_mb))
      give_up(with.control, failed);
    if (::sethostname("169", 3) != 0) give_up(with.control, "sethostname");
  }
  // Before the change of user, who may not be allowed to go there by itself.
  if (::chdir(task.directory.c_str()) != 0) give_up(with.control, "enter the function's directory");
  if (task.as_root || task.can->user)
    if (const char* failed = become_nobody(task)) give_up(with.control, failed);
  limit(task);
  // setuid clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);

  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  const int child_signals = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t function = ::fork();
  if (function < 0) give_up(with.control, "fork");
  if (function == 0) execute(task, with);
  ::close(with.output);
  supervise(function, with.control, child_signals, task.can->namespaces);
  if (!task.can->namespaces) ::kill(-function, SIGKILL);
  ::_exit(0);
}

}  // namespace platform::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/seccomp.hpp"

#include <cerrno>
#include <cstddef>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace platform::sandbox {
namespace {

constexpr int forbidden[] = {
    // Mounts and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_swapon, SYS_swapoff,
    SYS_quotactl, SYS_quotactl_fd, SYS_acct, SYS_name_to_handle_at, SYS_open_by_handle_at,
    // The kernel itself
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot,
    SYS_bpf, SYS_perf_event_open, SYS_syslog, SYS_lookup_dcookie, SYS_userfaultfd, SYS_fanotify_init,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_create_module, SYS_get_kernel_syms, SYS_query_module, SYS_nfsservctl,
    SYS_uselib, SYS_ustat, SYS_sysfs, SYS_modify_ldt, SYS__sysctl,
#endif
    // Keys, other processes, clocks, names
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_kcmp, SYS_pidfd_getfd, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
    SYS_sethostname, SYS_setdomainname, SYS_vhangup, SYS_personality, SYS_mbind, SYS_set_mempolicy,
    SYS_migrate_pages, SYS_move_pages,
};

// Programs that do without: io_uring (event loops fall back on epoll), clone3 (its flags are in memory
// where a filter cannot look; the C library falls back on clone).
constexpr int absent[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_clone3};

constexpr unsigned namespace_flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

#ifdef __x86_64__
constexpr unsigned architecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned architecture = AUDIT_ARCH_AARCH64;
#endif

constexpr unsigned deny = SECCOMP_RET_ERRNO | EPERM;
constexpr unsigned lack = SECCOMP_RET_ERRNO | ENOSYS;

std::vector<sock_filter> filter() {
  std::vector<sock_filter> code;
  const auto load = [&](unsigned offset) { code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); };
  const auto answer = [&](unsigned what) { code.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  load(offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
  answer(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));  // the x32 ABI
  answer(lack);
#endif
  for (const int each : forbidden) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(each), 0, 1));
    answer(deny);
  }
  for (const int each : absent) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(each), 0, 1));
    answer(lack);
  }
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  load(offsetof(seccomp_data, args[0]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, namespace_flags, 0, 1));
  answer(deny);
  answer(SECCOMP_RET_ALLOW);
  return code;
}

}  // namespace

bool restrict_system_calls() {
  auto code = filter();
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace platform::sandbox

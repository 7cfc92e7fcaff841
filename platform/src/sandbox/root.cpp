// SPDX-License-Identifier: Apache-2.0
#include "sandbox/root.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace platform::sandbox {
namespace {

constexpr const char* system_directories[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr const char* system_files[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
                                        "/etc/ssl/certs",   "/etc/ca-certificates.conf", "/etc/localtime",
                                        "/etc/protocols",   "/etc/services", "/etc/mime.types"};
constexpr const char* devices[] = {"null", "zero", "full", "random", "urandom"};

bool make_directories(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

bool write_file(const std::string& path, const char* text) {
  std::ofstream out(path);
  out << text;
  return out.good();
}

bool mount_read_only(const std::string& from, const std::string& to, unsigned long flags) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         // Flags of a locked mount (user namespace) cannot be dropped: keep what is asked for at least.
         (::mount(nullptr, to.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | flags, nullptr) == 0 ||
          ::mount(nullptr, to.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | flags, nullptr) == 0);
}

bool take_over(const std::string& from, const std::string& root) {
  struct stat about;
  if (::lstat(from.c_str(), &about) != 0) return true;
  const std::string to = root + from;
  if (!make_directories(to.substr(0, to.rfind('/')))) return false;
  if (S_ISLNK(about.st_mode)) {
    char target[4096];
    const ssize_t size = ::readlink(from.c_str(), target, sizeof target - 1);
    if (size < 0) return false;
    target[size] = 0;
    return ::symlink(target, to.c_str()) == 0;
  }
  if (S_ISDIR(about.st_mode)) return make_directories(to) && mount_read_only(from, to, 0);
  return write_file(to, "") && mount_read_only(from, to, 0);
}

bool make_devices(const std::string& root) {
  const std::string folder = root + "/dev";
  if (!make_directories(folder)) return false;
  for (const char* name : devices) {
    const std::string to = folder + "/" + name;
    if (!write_file(to, "")) return false;
    if (::mount(("/dev/" + std::string(name)).c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  }
  return ::symlink("/proc/self/fd", (folder + "/fd").c_str()) == 0 &&
         ::symlink("/proc/self/fd/0", (folder + "/stdin").c_str()) == 0 &&
         ::symlink("/proc/self/fd/1", (folder + "/stdout").c_str()) == 0 &&
         ::symlink("/proc/self/fd/2", (folder + "/stderr").c_str()) == 0;
}

bool make_etc(const std::string& root) {
  const std::string etc = root + "/etc";
  return make_directories(etc) &&
         write_file(etc + "/passwd", "root:x:0:0:root:/root:/sbin/nologin\n"
                                     "sbx_user1051:x:993:990::/tmp:/sbin/nologin\n") &&
         write_file(etc + "/group", "root:x:0:\nsbx_group:x:990:\n") &&
         write_file(etc + "/hosts", "127.0.0.1 localhost\n") &&
         write_file(etc + "/resolv.conf", "") &&
         write_file(etc + "/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
}

}  // namespace

bool enter_template_root(const std::string& run_directory, const std::string& code_directory) {
  const std::string root = run_directory + "/root";
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (!make_directories(root)) return false;
  if (::mount("platform", root.c_str(), "tmpfs", MS_NOSUID, "mode=755,size=1m") != 0) return false;
  for (const char* each : system_directories)
    if (!take_over(each, root)) return false;
  if (!make_etc(root) || !make_devices(root)) return false;
  for (const char* each : system_files) take_over(each, root);
  for (const char* each : {"/tmp", "/proc", "/var/task", "/var/runtime", "/opt", "/.platform/code", "/.platform/proc"})
    if (!make_directories(root + each)) return false;
  if (!mount_read_only(code_directory, root + "/.platform/code", MS_NODEV)) return false;
  // A user namespace may mount its own proc only where it sees a whole one.
  if (::mount("/proc", (root + "/.platform/proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  if (::chmod((root + "/.platform").c_str(), 0700) != 0) return false;
  if (::mkdir((root + "/.host").c_str(), 0700) != 0) return false;
  if (::chdir(root.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".host") != 0) return false;
  if (::chdir("/") != 0 || ::umount2("/.host", MNT_DETACH) != 0) return false;
  ::rmdir("/.host");
  return ::mount(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID, nullptr) == 0;
}

const char* complete_root(const std::string& code, unsigned long ephemeral_mb) {
  if (::mount(("/.platform/code/" + code).c_str(), "/var/task", nullptr, MS_BIND, nullptr) != 0) return "mount /var/task";
  const std::string size = "mode=1777,size=" + std::to_string(ephemeral_mb) + "m";
  if (::mount("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0) return "mount /tmp";
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return "mount /proc";
  if (::umount2("/.platform/proc", MNT_DETACH) != 0) return "unmount /.platform/proc";
  if (::umount2("/.platform/code", MNT_DETACH) != 0) return "unmount /.platform/code";
  return nullptr;
}

}  // namespace platform::sandbox

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace platform::sandbox {

/// This server's own subtree of the control groups: v1 hierarchies of memory, cpu, pids and freezer
/// where they can be written, or one v2 group with those controllers. `name` is a sandbox's.
class cgroups {
 public:
  /// Makes the subtree below the cgroup this process is in. Says in `missing` what cannot be had.
  static cgroups make(std::vector<std::string>& missing);
  /// The subtree another process made.
  static cgroups open(const std::string& description);
  std::string description() const;

  int version() const { return version_; }
  bool has(const char* controller) const;

  /// Makes a sandbox's group with its limits (not the CPU's, see limit_cpu) and returns descriptors:
  /// a process that writes "0" to each of them moves itself in.
  std::vector<int> create(const std::string& name, std::uint64_t memory_bytes) const;
  /// Kills nothing; the group must be empty or will be retried by `remove_all`.
  bool remove(const std::string& name) const;
  /// Ends every process in the subtree, frozen or not, and removes it.
  void remove_all() const;

  /// Descriptors of one group's files, for what happens at each request.
  struct handle {
    int freeze = -1;
    int peak = -1;
    int oom = -1;
    int cpu = -1;
  };
  handle open_handle(const std::string& name) const;
  /// 1,769 MB are one CPU. Not called before the first request is ready: init runs at full speed, as
  /// on AWS.
  void limit_cpu(const handle& group, std::uint64_t memory_mb) const;
  void freeze(const handle& group, bool frozen) const;
  std::uint64_t peak_bytes(const handle& group) const;
  std::uint64_t oom_kills(const handle& group) const;

 private:
  struct root {
    std::string controller;
    std::string path;
    int directory = -1;
    int parent = -1;
  };
  static root open_root(const std::string& controller, const std::string& path);
  const root* find(const char* controller) const;
  int version_ = 0;
  std::vector<root> roots_;
};

}  // namespace platform::sandbox

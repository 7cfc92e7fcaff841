// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace platform::sandbox {

/// Denies this thread and its children the system calls a function has no business with: mounting,
/// namespaces, kernel modules, BPF, keys, tracing other processes, setting clocks ... They fail with
/// EPERM, or ENOSYS where programs fall back on something else. False if the kernel has no seccomp.
bool restrict_system_calls();

}  // namespace platform::sandbox

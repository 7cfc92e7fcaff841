// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace platform::sandbox {

/// Makes this process's mount namespace hold only what functions may see (system programs and
/// libraries, read-only; a few files of /etc) plus, below /.platform, what is needed to complete a
/// sandbox. Returns false, with the reason in errno, where the kernel does not allow it.
bool enter_template_root(const std::string& run_directory, const std::string& code_directory);

/// In a new mount namespace that inherits the template root: the function's code, its own /tmp and
/// /proc; /.platform goes. Returns what failed, or null.
const char* complete_root(const std::string& code, unsigned long ephemeral_mb);

}  // namespace platform::sandbox

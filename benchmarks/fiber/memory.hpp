// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace bench {

/// Of the process, with the page tables that the kernel keeps for it.
inline double resident_bytes() {
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) kib += std::stod(line.substr(6));
    if (line.starts_with("VmPTE:")) kib += std::stod(line.substr(6));
  }
  return kib * 1024;
}

}  // namespace bench

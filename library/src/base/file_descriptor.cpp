// SPDX-License-Identifier: Apache-2.0
#include "base/file_descriptor.hpp"

#include <fcntl.h>

#include "base/system_call.hpp"

namespace cppless::detail {

file_descriptor moved_high(int number) {
  constexpr int lowest = 64;
  const file_descriptor low(number);
  return file_descriptor(check_system_call(::fcntl(number, F_DUPFD_CLOEXEC, lowest), "fcntl",
                                           std::to_string(number) + ", F_DUPFD_CLOEXEC"));
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "base/worker_count.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include <cppless/errors.hpp>

namespace cppless::detail {

unsigned usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

unsigned default_worker_count(unsigned most) {
  const char* const text = std::getenv("CPPLESS_WORKERS");
  if (text == nullptr || *text == '\0') return std::min(usable_cores(), most);
  const std::string value = text;
  const char* const end = value.data() + value.size();
  unsigned count = 0;
  const auto [stopped, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || stopped != end || count == 0 || count > most) {
    throw rejected("CPPLESS_WORKERS='" + value + "' is not a number of workers from 1 to " +
                   std::to_string(most));
  }
  return count;
}

}  // namespace cppless::detail

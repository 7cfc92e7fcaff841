// SPDX-License-Identifier: Apache-2.0
#include <cppless/dispatch.hpp>

#include <exception>

namespace cppless {

void wait(instance& on, std::size_t count) {
  std::exception_ptr first;
  for (std::size_t at = 0; at < count; ++at) {
    try {
      on.wait_one();
    } catch (const error& failure) {
      if (!first) first = std::current_exception();
      if (failure.id() == 0) break;  // nothing is outstanding, or the instance is closed
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace cppless

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

namespace cppless::detail {

/// All results of the futures in order (nothing, if they are of nothing) once all have ended; or the
/// first error in their order.
template <class Future>
auto collect(std::vector<Future>& futures) {
  using result = decltype(std::declval<Future&>().get());
  for (const Future& each : futures) each.wait();
  if constexpr (std::is_void_v<result>) {
    for (Future& each : futures) each.get();
  } else {
    std::vector<result> results;
    results.reserve(futures.size());
    for (Future& each : futures) results.push_back(each.get());
    return results;
  }
}

}  // namespace cppless::detail

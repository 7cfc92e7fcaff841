// SPDX-License-Identifier: Apache-2.0
#include <cppless/map.hpp>

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>
#include <string>

#include "task/described_exception.hpp"

namespace cppless::detail {
namespace {

// A part may take an eighth of each worker's share: then the last to end is at most that much late.
constexpr double parts_per_share = 8;
constexpr std::size_t most_parts = 65536;

// As libomp does. With a whole share of what is left the first chunk alone would decide where the
// first elements take longer than the rest.
constexpr double chunks_per_worker = 2;

}  // namespace

std::vector<std::size_t> from_highest(const std::vector<double>& costs) {
  std::vector<std::size_t> places(costs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const auto order = std::strong_order(costs[b], costs[a]);  // an order even where a cost is NaN
    return order < 0 || (order == 0 && a < b);
  });
  return places;
}

double weight_of(double cost) noexcept { return std::isfinite(cost) && cost > 0 ? cost : 0; }

double total_weight(const std::vector<double>& costs) noexcept {
  double total = 0;
  for (const double each : costs) total += weight_of(each);
  return total;
}

std::size_t parts_wanted(double cost, double total, unsigned workers) noexcept {
  if (!(total > 0)) return 0;
  const double wanted = std::ceil(weight_of(cost) / total * workers * parts_per_share);
  return wanted < static_cast<double>(most_parts) ? static_cast<std::size_t>(wanted) : most_parts;
}

std::vector<std::size_t> chunk_ends(std::span<const double> costs, unsigned workers,
                                    std::size_t least, std::size_t most) {
  std::vector<double> weights(costs.begin(), costs.end());
  for (double& each : weights) each = weight_of(each);
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(left > 0) || !std::isfinite(left)) {  // nothing is known of them
    std::fill(weights.begin(), weights.end(), 1.0);
    left = static_cast<double>(weights.size());
  }
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < weights.size();) {
    const double share = left / (chunks_per_worker * workers);
    const std::size_t begin = at;
    double taken = 0;
    do {
      taken += weights[at++];
    } while (at < weights.size() && at - begin < most && (taken < share || at - begin < least));
    left -= taken;
    ends.push_back(at);
  }
  return ends;
}

element_scope::element_scope() {
  if (const update_scope* const task = update_scope::current()) before_ = task->log;
}

chunk_failure element_scope::fail(std::size_t place) {
  if (update_scope* const task = update_scope::current()) task->log = std::move(before_);
  described_exception thrown = describe_current_exception();
  return {place, std::move(thrown.type), std::move(thrown.what)};
}

void reject_outcome(std::size_t place, std::size_t count) {
  throw rejected("malformed outcome of a chunk of " + std::to_string(count) +
                 " elements, at element " + std::to_string(place));
}

std::exception_ptr error_of(const chunk_failure& failure, const char* task, task_id id) {
  return std::make_exception_ptr(
      task_failed(failed_text(task, {failure.type, failure.what}), id, failure.type));
}

}  // namespace cppless::detail

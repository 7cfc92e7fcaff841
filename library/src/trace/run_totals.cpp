// SPDX-License-Identifier: Apache-2.0
#include "trace/run_totals.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.hpp"

namespace cppless::detail {
namespace {

// Taken from the environment at once, so that neither workers nor children of the program write it.
std::string take_summary_path() {
  const char* const path = std::getenv("CPPLESS_SUMMARY");
  std::string taken = path == nullptr ? "" : path;
  ::unsetenv("CPPLESS_SUMMARY");
  return taken;
}

const std::string& summary_path() {
  static const std::string path = take_summary_path();
  return path;
}

}  // namespace

run_totals& run_totals::get() noexcept {
  static run_totals totals;
  return totals;
}

run_totals::run_totals() noexcept : started_ns_(now_ns()) {
  if (!summary_path().empty()) std::atexit(&run_totals::write_summary);
}

void run_totals::write_summary() noexcept {
  const run_totals& totals = get();
  std::FILE* const file = std::fopen(summary_path().c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "cppless: cannot write the summary to '%s'\n", summary_path().c_str());
    return;
  }
  std::fprintf(file,
               "{\"tasks\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"retries\":%" PRIu64
               ",\"workers\":%u,\"wall_ns\":%" PRIu64 ",\"task_ns\":%" PRIu64 "}\n",
               totals.tasks(), totals.failed_.load(), totals.retries_.load(),
               totals.workers_.load(), now_ns() - totals.started_ns_, totals.task_ns_.load());
  std::fclose(file);
}

}  // namespace cppless::detail

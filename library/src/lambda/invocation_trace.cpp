// SPDX-License-Identifier: Apache-2.0
#include "lambda/invocation_trace.hpp"

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "base/ticks.hpp"
#include "lambda/invocation.hpp"
#include "task/traced_job.hpp"

namespace cppless::detail {
namespace {

// Beyond what the kernel gives to processes.
constexpr std::uint64_t first_process = 10'000'000;

std::uint64_t to_ticks(std::uint64_t ns) noexcept {
  constexpr std::uint64_t many = 1'000'000'000;
  const auto ns_per_tick = static_cast<double>(tick_clock::get().to_ns(many)) / double{many};
  return static_cast<std::uint64_t>(static_cast<double>(ns) / ns_per_tick);
}

task_trace& placed(invocation& of, unsigned instance) noexcept {
  task_trace& trace = *of.what->trace;
  trace.worker_process = first_process + instance;
  trace.worker_thread = of.lane;
  trace.send_begins = of.sent;
  trace.received_bytes = of.answer.body.size();
  return trace;
}

}  // namespace

void name_in_trace(unsigned instance) {
  name_trace_process(first_process + instance, "Lambda, invocations at once");
}

void trace_run(invocation& of, const result_head& head, unsigned instance) {
  task_trace& trace = placed(of, instance);
  const std::uint64_t run = std::min(to_ticks(head.run_ns), of.answered - of.sent);
  const std::uint64_t latest = of.answered - run;
  std::uint64_t began = of.sent + (latest - of.sent) / 2;
  if (head.began_ns != 0) {
    const std::uint64_t now = ticks();
    const std::uint64_t wall = wall_ns();
    const std::uint64_t ago = to_ticks(wall - std::min(wall, head.began_ns));
    began = now - std::min(now, ago);
  }
  trace.started = std::clamp(began, of.sent, latest);
  trace.ended = trace.started + run;
}

void trace_failed_run(invocation& of, unsigned instance) {
  if (of.lane == 0) return;  // it was never sent
  task_trace& trace = placed(of, instance);
  trace.started = of.sent;
  trace.ended = of.answered > of.sent ? of.answered : ticks();
}

void trace_lost_try(invocation& of, const failure& why, unsigned instance) {
  placed(of, instance);
  write_lost_try(*of.what, instance, of.attempts + of.refusals + 1, of.sent, to_string(why.kind),
                 why.message);
  of.lane = 0;
}

}  // namespace cppless::detail

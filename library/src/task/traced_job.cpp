// SPDX-License-Identifier: Apache-2.0
#include "task/traced_job.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/ticks.hpp"
#include "trace/trace_file.hpp"

namespace cppless::detail {
namespace {

/// "instance.id", as events name a task.
class task_name {
 public:
  task_name(unsigned instance, task_id id) noexcept {
    char* at = std::to_chars(text_, text_ + sizeof text_, instance).ptr;
    *at++ = '.';
    size_ = static_cast<std::size_t>(std::to_chars(at, text_ + sizeof text_, id).ptr - text_);
  }
  operator std::string_view() const noexcept { return {text_, size_}; }

 private:
  char text_[40];
  std::size_t size_;
};

trace_place this_thread(const trace_file& file) noexcept {
  static thread_local const auto thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return {file.process(), thread};
}

std::uint64_t count(std::chrono::nanoseconds time) noexcept {
  return static_cast<std::uint64_t>(time.count());
}

/// The moments of a task on the trace's clock. In order, whatever other processes' clocks say.
struct moments {
  std::uint64_t created, encoded, submitted, send_begins, send_ends, started, decoded, called,
      ended, received, settled;

  moments(const job& of, trace_clock& clock) noexcept {
    const task_trace& from = *of.trace;
    created = from.created;
    encoded = from.encoded != 0 ? from.encoded : of.submitted;
    submitted = of.submitted;
    send_begins = from.send_begins;
    send_ends = from.send_ends;
    started = from.started;
    decoded = from.decoded;
    called = from.called;
    ended = from.ended;
    received = from.received;
    settled = from.settled;
    clock.to_ns({&created, 11});
    if (started == 0) return;
    started = std::max(started, submitted);
    ended = std::clamp(ended, started, std::max(started, received));
    if (decoded != 0) decoded = std::clamp(decoded, started, ended);
    if (called != 0) called = std::clamp(called, std::max(started, decoded), ended);
    send_begins = std::min(send_begins, started);
    send_ends = send_ends == 0 ? started : std::min(send_ends, started);
    if (send_begins == 0) send_ends = 0;
  }
};
static_assert(sizeof(moments) == 11 * sizeof(std::uint64_t));

// Where a task that waits for its turn is drawn: beside the threads of the process.
trace_place waiting_room(const trace_file& file) noexcept { return {file.process(), file.process()}; }

void write_way(trace_lines& to, const trace_file& file, const job& of, const moments& at,
               std::string_view id) {
  const task_trace& trace = *of.trace;
  const bool is_nested = trace.encoded != 0;
  const trace_place creator = {is_nested ? trace.creator : file.process(), trace.creator};
  to.span("phase", "encode", creator, at.created, at.encoded).flow(id, false, true);
  to.argument("task", id).argument("bytes", trace.sent_bytes).close();
  // What never ran waited until it was settled.
  const std::uint64_t queue_ends =
      at.started == 0 ? at.settled : trace.send_ends == 0 && at.send_begins != 0 ? at.send_begins
                                                                                 : at.started;
  to.overlapping_span("queue", id, waiting_room(file), at.submitted, queue_ends);
  if (at.started == 0) return;
  if (at.send_begins != 0) {
    to.overlapping_span("send", id, waiting_room(file), at.send_begins, at.send_ends);
  }
  const trace_place worker = {trace.worker_process, trace.worker_thread};
  to.span("phase", "run", worker, at.started, at.ended).flow(id, true, true);
  to.argument("task", id).argument("name", of.what.name());
  to.argument("attempt", std::uint64_t{of.statistics.attempts}).close();
  // Inside the run, as far as a picture can show it.
  constexpr std::uint64_t visible_ns = 1000;
  if (at.decoded > at.started + visible_ns) {
    to.span("phase", "decode arguments", worker, at.started, at.decoded).close();
  }
  if (at.called != 0 && at.ended > at.called + visible_ns) {
    to.span("phase", "encode result", worker, at.called, at.ended).close();
  }
  if (at.received > at.ended && trace.worker_process != file.process()) {
    to.overlapping_span("receive", id, waiting_room(file), at.ended, at.received);
  }
}

void write_end(trace_lines& to, const trace_file& file, const job& of, const moments& at,
               std::string_view id) {
  const task_trace& trace = *of.trace;
  const execution_statistics& took = of.statistics;
  const char* const what = trace.has_failed ? "failure" : trace.encoded != 0 ? "reply" : "decode";
  to.span("task", what, this_thread(file), at.received, at.settled).flow(id, true, false);
  to.argument("task", id).argument("name", of.what.name()).argument("dispatcher", trace.dispatcher);
  to.argument("outcome", trace.has_failed ? to_string(trace.kind) : "ok");
  if (trace.has_failed) to.argument("error", trace.message);
  if (trace.parent != 0) to.argument("parent", trace.parent);
  to.argument("attempts", std::uint64_t{took.attempts}).argument("cold", std::uint64_t{took.cold});
  to.argument("process", trace.worker_process).argument("thread", trace.worker_thread);
  to.argument("created", at.created).argument("submitted", at.submitted);
  to.argument("started", at.started).argument("ended", at.ended);
  to.argument("received", at.received).argument("settled", at.settled);
  to.argument("encode_ns", at.encoded - at.created);
  to.argument("send_ns", at.started == 0 ? 0 : at.send_ends - at.send_begins);
  to.argument("queue_ns", count(took.queue)).argument("run_ns", count(took.run));
  to.argument("waited_ns", count(took.waited)).argument("total_ns", count(took.total));
  to.argument("sent_bytes", trace.sent_bytes).argument("received_bytes", trace.received_bytes);
  to.argument("peak_memory", took.peak_memory).argument("memory_limit", of.limits.memory_bytes);
  to.close();
  to.count_task();
}

}  // namespace

void write_trace(job& done, unsigned instance) noexcept {
  if (trace_file* const file = trace_file::get()) {
    const task_name id(instance, done.statistics.id);
    const moments at(done, file->clock());
    trace_lines lines(*file);
    write_way(lines, *file, done, at, id);
    write_end(lines, *file, done, at, id);
  }
  done.trace.reset();
}

void write_lost_try(const job& lost, unsigned instance, unsigned number, std::uint64_t sent,
                    std::string_view outcome, std::string_view why) noexcept {
  trace_file* const file = trace_file::get();
  if (file == nullptr) return;
  const task_name id(instance, lost.statistics.id);
  std::uint64_t times[] = {sent, ticks()};
  file->clock().to_ns(times);
  trace_lines lines(*file);
  const task_trace& trace = *lost.trace;
  lines.span("try", outcome, {trace.worker_process, trace.worker_thread}, times[0], times[1]);
  lines.flow(id, true, true).argument("task", id).argument("name", lost.what.name());
  lines.argument("attempt", std::uint64_t{number}).argument("error", why);
  lines.argument("began", times[0]).argument("ended", times[1]).close();
}

void write_workers(unsigned instance, unsigned workers) noexcept {
  trace_file* const file = trace_file::get();
  if (file == nullptr) return;
  trace_lines lines(*file);
  lines.metadata("instance", {file->process(), file->process()});
  lines.argument("instance", std::uint64_t{instance}).argument("workers", std::uint64_t{workers});
  lines.close();
}

void name_trace_process(std::uint64_t process, std::string_view name) noexcept {
  if (trace_file* const file = trace_file::get()) file->name(process, name);
}

void write_remote_decoding(task_id id, unsigned instance, std::uint64_t process,
                           std::uint64_t begin, std::uint64_t end) noexcept {
  trace_file* const file = trace_file::get();
  if (file == nullptr) return;
  const task_name name(instance, id);
  std::uint64_t times[] = {begin, end};
  file->clock().to_ns(times);
  trace_lines lines(*file);
  lines.span("phase", "decode", {process, process}, times[0], times[1]).flow(name, true, false);
  lines.argument("task", name).close();
}

}  // namespace cppless::detail

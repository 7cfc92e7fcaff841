// SPDX-License-Identifier: Apache-2.0
#include "fiber/fiber_instance.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <cppless/detail/fiber/function_task.hpp>

#include "base/clock.hpp"
#include "base/ticks.hpp"
#include "fiber/scheduler.hpp"
#include "fiber/task_waits.hpp"
#include "task/described_exception.hpp"
#include "task/traced_job.hpp"
#include "trace/run_totals.hpp"

namespace cppless::fiber::detail {

using cppless::detail::failure;
using cppless::detail::job;
using cppless::detail::job_list;
using cppless::detail::luggage;
using cppless::detail::tick_clock;
using cppless::detail::ticks;

namespace {

void execute(task& base) noexcept {
  auto& self = static_cast<dispatched&>(base);
  if (self.at.load(std::memory_order_acquire) != dispatched::phase::abandoned) {
    self.owner.run(self);
  }
  if (self.locals != nullptr) destroy_locals(self);
  self.kind->destroy(self);
}

void destroy(task& base) noexcept {
  auto& self = static_cast<dispatched&>(base);
  self.~dispatched();
  free_block(&self, sizeof self);
}

constexpr task_kind dispatched_kind{&execute, &execute, &destroy, "a dispatched task"};

}  // namespace

dispatched::dispatched(fiber_instance& of, std::unique_ptr<job> made) noexcept
    : task(dispatched_kind, outcome::none),
      owner(of),
      what(std::move(made)),
      id(what->statistics.id) {
  if (const dispatched* const by = current()) parent = {&by->owner, by->id};
}

dispatched* dispatched::current() noexcept {
  const worker* const self = detail::current();
  task* const runs = self != nullptr ? self->current : nullptr;
  return runs != nullptr && runs->kind == &dispatched_kind ? static_cast<dispatched*>(runs)
                                                           : nullptr;
}

namespace {

/// Those that are open, for tasks that end the tasks they have dispatched, on whichever.
struct open_instances {
  std::mutex mutex;  // taken before those of the instances
  std::vector<fiber_instance*> all;

  static open_instances& get() {
    static auto* const open = new open_instances;  // instances may be closed at the very end
    return *open;
  }
};

}  // namespace

fiber_instance::fiber_instance(const fiber_dispatcher::options& chosen) : options_(chosen) {
  scheduler& running = scheduler::running_or_started();
  cppless::detail::run_totals::get().set_workers(running.options().workers);
  cppless::detail::write_workers(trace_number(), running.options().workers);
  open_instances& open = open_instances::get();
  const std::lock_guard lock(open.mutex);
  open.all.push_back(this);
}

unsigned fiber_instance::concurrency() const noexcept {
  return scheduler::running_or_started().options().workers;
}

cppless::detail::fiber_waits* fiber_instance::parks_caller() const noexcept {
  return &task_waits();
}

void fiber_instance::link(dispatched& added) noexcept {
  added.older = newest_;
  if (newest_ != nullptr) newest_->newer = &added;
  newest_ = &added;
}

void fiber_instance::unlink(dispatched& removed) noexcept {
  (removed.newer != nullptr ? removed.newer->older : newest_) = removed.older;
  if (removed.older != nullptr) removed.older->newer = removed.newer;
}

void fiber_instance::send(std::unique_ptr<job> sent, std::unique_lock<std::mutex>& lock) {
  if (const std::uint64_t limit_ns = sent->limits.deadline_ns; limit_ns != 0) {
    keep_limit({sent->deadline_ns, sent->statistics.id, limit::kind::deadline, limit_ns, nullptr});
  }
  worker& here = current_or_attached();
  void* const place = here.blocks.allocate(sizeof(dispatched));
  dispatched& made = *new (place) dispatched(*this, std::move(sent));
  const task_id id = made.id;
  link(made);
  lock.unlock();
  // From a fiber the newest first, so that those who wait for their own tasks stay few; from
  // elsewhere in their order.
  if (static_cast<processor&>(here).of != nullptr) {
    fiber::detail::submit(here, made);
  } else {
    inject(made);
  }
  // Whoever gives that one up looks for its children afterwards: this one was there, or it finds here
  // that it has come too late.
  const dispatched* const by = dispatched::current();
  if (by != nullptr && by->at.load(std::memory_order_acquire) == dispatched::phase::abandoned) {
    give_up_child(id);
  }
}

/// What is called, taken out of its job.
struct fiber_instance::request {
  explicit request(job& from)
      : what(from.what),
        timeout_ns(from.limits.timeout_ns),
        submitted(from.submitted),
        payload(from.payload),
        takes_objects(from.takes_objects()),
        shared(std::move(from.shared)) {}

  const cppless::detail::entry& what;
  const std::uint64_t timeout_ns;
  const std::uint64_t submitted;
  const cppless::detail::detached_payload payload;
  const bool takes_objects;
  const std::unique_ptr<cppless::detail::shared_things> shared;
};

namespace {

/// A request with what did not become bytes.
class loaded_source final : public cppless::detail::source {
 public:
  loaded_source(const std::byte* data, std::size_t size, luggage* beside) noexcept
      : source(data, size), beside_(beside) {}
  luggage* beside() noexcept override { return beside_; }

 private:
  luggage* const beside_;
};

class result_sink final : public cppless::detail::small_sink<64> {
 public:
  explicit result_sink(bool takes_objects) noexcept : takes_objects_(takes_objects) {}
  luggage* beside() noexcept override { return takes_objects_ ? &beside_ : nullptr; }

 private:
  const bool takes_objects_;
  luggage beside_;
};

}  // namespace

struct fiber_instance::outcome {
  explicit outcome(bool takes_objects) noexcept : result(takes_objects) {}

  result_sink result;
  std::optional<failure> reason;
  cppless::detail::update_scope updates{cppless::detail::update_scope::of_fiber{}};
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
};

void fiber_instance::call(const request& of, dispatched& running, outcome& to) noexcept {
  to.started = ticks();
  running.updates = &to.updates;
  try {
    const bool has_objects = of.shared != nullptr && !of.shared->beside.empty();
    luggage* const beside = has_objects ? &of.shared->beside : nullptr;
    loaded_source request(of.payload.data(), of.payload.size(), beside);
    of.what.run(request, to.result);
  } catch (...) {
    const auto thrown = cppless::detail::describe_current_exception();
    to.reason = failure{error_kind::task_failed,
                        cppless::detail::failed_text(of.what.name(), thrown), thrown.type};
  }
  running.updates = nullptr;
  to.ended = ticks();
  tick_clock::get().refine(to.ended);
}

namespace {

void note_run(cppless::detail::task_trace& of, std::uint64_t started, std::uint64_t ended) noexcept {
  of.dispatcher = "fiber";
  of.started = started;
  of.ended = ended;
  of.worker_process = static_cast<std::uint64_t>(::getpid());
  of.worker_thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
}

}  // namespace

void fiber_instance::settle_own(job& ended, outcome& with) noexcept {
  const tick_clock& clock = tick_clock::get();
  cppless::execution_statistics& statistics = ended.statistics;
  statistics.queue = std::chrono::nanoseconds(clock.to_ns(with.started - ended.submitted));
  statistics.run = std::chrono::nanoseconds(clock.to_ns(with.ended - with.started));
  if (ended.trace != nullptr) [[unlikely]] note_run(*ended.trace, with.started, with.ended);
  if (with.reason) {
    settle(ended, *with.reason);
  } else {
    with.updates.log.apply();
    loaded_source bytes(with.result.data(), with.result.size(), with.result.beside());
    settle(ended, bytes);
  }
}

void fiber_instance::run(dispatched& next) noexcept {
  auto expected = dispatched::phase::queued;
  for (int turn = 0;
       !next.at.compare_exchange_strong(expected, dispatched::phase::starting); ++turn) {
    if (expected == dispatched::phase::abandoned) return;
    expected = dispatched::phase::queued;  // is being abandoned this moment
    cppless::detail::spin_turn(turn);
  }
  job_list published;
  {
    if (next.what->trace != nullptr) [[unlikely]] {
      next.what->trace->sent_bytes = next.what->payload.size();
    }
    request taken(*next.what);
    next.what->statistics.attempts = 1;
    if (!has_run_.load(std::memory_order_relaxed)) {
      next.what->statistics.cold = !has_run_.exchange(true, std::memory_order_relaxed);
    }
    if (taken.timeout_ns != 0) limit_run(taken.what, taken.timeout_ns, next.id);
    next.at.store(dispatched::phase::running, std::memory_order_release);
    outcome came(taken.takes_objects && takes_objects());
    call(taken, next, came);
    expected = dispatched::phase::running;
    if (next.at.compare_exchange_strong(expected, dispatched::phase::finished)) {
      settle_own(*next.what, came);
      published.push_back(std::move(next.what));
    }
  }
  end(next, std::move(published));
}

void fiber_instance::end(dispatched& ended, job_list published) noexcept {
  waiter* closing = nullptr;
  {
    const std::lock_guard lock(mutex_);
    unlink(ended);
    if (!published.empty()) published = publish_held(std::move(published), false);
    if (newest_ == nullptr) closing = std::exchange(closing_, nullptr);
  }
  notify(std::move(published));
  if (closing != nullptr) closing->wake();
}

/// With the lock held. Its job, to be settled without; null if it has ended.
std::unique_ptr<job> fiber_instance::abandon(dispatched& which) noexcept {
  using phase = dispatched::phase;
  for (int turn = 0;; ++turn) {
    phase seen = which.at.load(std::memory_order_acquire);
    if (seen == phase::starting) {
      cppless::detail::spin_turn(turn);
      continue;
    }
    if (seen != phase::queued && seen != phase::running) return nullptr;
    std::unique_ptr<job> taken;
    if (seen == phase::queued) {
      // Before the record may be gone.
      if (!which.at.compare_exchange_strong(seen, phase::starting)) continue;
      taken = std::move(which.what);
      unlink(which);
      which.at.store(phase::abandoned, std::memory_order_release);
      return taken;
    }
    if (!which.at.compare_exchange_strong(seen, phase::abandoned)) continue;
    return std::move(which.what);
  }
}

bool fiber_instance::give_up(task_id id, const failure& reason) {
  job_list given_up;
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    dispatched* at = newest_;
    while (at != nullptr && at->id != id) at = at->older;
    if (at == nullptr) return false;
    stop = at->stop;
    std::unique_ptr<job> taken = abandon(*at);  // the record may be gone
    if (taken == nullptr) return false;
    given_up.push_back(std::move(taken));
  }
  stop.request_stop();
  give_up_children({this, id});
  settle(*given_up.first(), reason);
  publish(std::move(given_up), false);
  return true;
}

bool fiber_instance::cancel(task_id id) {
  return give_up(id, {error_kind::cancelled, "task " + std::to_string(id) + " was cancelled"});
}

std::stop_token fiber_instance::stop_token_of(dispatched& running) {
  const std::lock_guard lock(mutex_);
  if (!running.stop.stop_possible()) {
    running.stop = std::stop_source();
    if (running.at.load(std::memory_order_acquire) == dispatched::phase::abandoned) {
      running.stop.request_stop();  // nobody listens yet
    }
  }
  return running.stop.get_token();
}

/// What a task has dispatched is of no use to it once it is given up; and a task that waits for its
/// own tasks is told by them.
void fiber_instance::give_up_children(const task_name& parent) {
  std::vector<std::pair<std::shared_ptr<fiber_instance>, task_id>> children;
  {
    open_instances& open = open_instances::get();
    const std::lock_guard all(open.mutex);
    for (fiber_instance* const each : open.all) {
      const std::lock_guard lock(each->mutex_);
      for (const dispatched* at = each->newest_; at != nullptr; at = at->older) {
        if (at->parent == parent) children.emplace_back(each->weak_from_this().lock(), at->id);
      }
    }
  }
  for (const auto& [on, id] : children) {
    if (on != nullptr) on->give_up_child(id);  // else it is about to be closed
  }
}

void fiber_instance::give_up_child(task_id id) {
  give_up(id, {error_kind::cancelled,
               "task " + std::to_string(id) + " was cancelled with the task that dispatched it"});
}

void fiber_instance::shut_down() noexcept {
  {
    open_instances& open = open_instances::get();
    const std::lock_guard lock(open.mutex);
    std::erase(open.all, this);
  }
  end_limits();
  job_list given_up;
  std::vector<std::stop_source> stops;
  std::vector<task_id> running;
  waiter last;
  bool some_run = false;
  {
    const std::lock_guard lock(mutex_);
    for (dispatched* at = newest_; at != nullptr;) {
      dispatched& each = *at;
      at = at->older;
      if (each.at.load(std::memory_order_relaxed) == dispatched::phase::running) {
        running.push_back(each.id);
      }
      if (each.stop.stop_possible()) stops.push_back(each.stop);
      if (std::unique_ptr<job> taken = abandon(each)) given_up.push_back(std::move(taken));
    }
    some_run = newest_ != nullptr;
    if (some_run) closing_ = &last;
  }
  for (std::stop_source& each : stops) each.request_stop();
  for (const task_id each : running) give_up_children({this, each});
  job_list settled;
  while (!given_up.empty()) {
    auto each = given_up.pop_front();
    settle(*each, {error_kind::cancelled, "the instance was closed before the task ended"});
    settled.push_back(std::move(each));
  }
  publish(std::move(settled), false);
  if (some_run) last.wait();
}

}  // namespace cppless::fiber::detail

namespace cppless {

instance fiber_dispatcher::create_instance() const {
  return instance(std::make_shared<fiber::detail::fiber_instance>(options_));
}

std::stop_token fiber_dispatcher::stop_token() {
  fiber::detail::dispatched* const running = fiber::detail::dispatched::current();
  return running != nullptr ? running->owner.stop_token_of(*running) : std::stop_token();
}

namespace detail {

// Named by what chooses dispatchers, which is of a room that knows nothing of this one.
extern "C" void cppless_create_fiber_instance(std::optional<instance>& created) {
  created.emplace(fiber_dispatcher().create_instance());
}

}  // namespace detail
}  // namespace cppless

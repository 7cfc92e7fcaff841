// SPDX-License-Identifier: Apache-2.0
#include <cppless/fiber/runtime.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/worker_count.hpp"
#include "fiber/scheduler.hpp"

namespace cppless::fiber {

namespace detail {

namespace {

/// More threads than cores would do no more. For dispatchers the variable may say many more.
unsigned default_workers() {
  constexpr unsigned most = 1'000'000;
  return std::min(cppless::detail::default_worker_count(most), cppless::detail::usable_cores());
}

scheduler_options options_of(const runtime::options& chosen) {
  const bool is_open = chosen.workers == 0 && !chosen.seed;
  const unsigned workers = is_open ? default_workers() : chosen.workers;
  return {chosen.seed ? 1 : workers, chosen.stack_size, chosen.seed.has_value(),
          chosen.seed.value_or(0)};
}

/// Starting and replacing, one at a time.
std::mutex start_mutex;
/// The one that nobody made, if it runs.
scheduler* implicit_one = nullptr;

/// Not destroyed: fibers that are parked when the program ends lie on its stacks.
struct closer {
  ~closer() {
    const std::lock_guard hold(start_mutex);
    if (implicit_one != nullptr) implicit_one->close(scheduler::wait_for_parked::no);
  }
};

/// Schedulers stay for good: see `scheduler::end`. Some hundred bytes each.
scheduler* make(const scheduler_options& options) {
  static auto* const all = new std::vector<void*>;
  void* const place = ::operator new(sizeof(scheduler));
  try {
    all->push_back(place);
    return new (place) scheduler(options);
  } catch (...) {
    if (!all->empty() && all->back() == place) all->pop_back();
    ::operator delete(place);
    throw;
  }
}

scheduler* start(const runtime::options& chosen) {
  const std::lock_guard hold(start_mutex);
  if (implicit_one != nullptr) {
    implicit_one->close(scheduler::wait_for_parked::yes);
    std::exchange(implicit_one, nullptr)->end();
  }
  return make(options_of(chosen));
}

}  // namespace

scheduler& scheduler::running_or_started() {
  if (scheduler* const already = running()) return *already;
  const std::lock_guard hold(start_mutex);
  if (scheduler* const already = running()) return *already;
  static const closer at_exit;
  implicit_one = make(options_of({}));
  return *implicit_one;
}

void inject(task& made) { scheduler::running_or_started().inject(made); }

}  // namespace detail

runtime::runtime(const options& chosen) : scheduler_(detail::start(chosen)) {}

runtime::~runtime() {
  scheduler_->close(detail::scheduler::wait_for_parked::yes);
  scheduler_->end();
}

unsigned runtime::workers() noexcept {
  const detail::scheduler* const running = detail::scheduler::running();
  return running != nullptr ? running->options().workers : 0;
}

}  // namespace cppless::fiber

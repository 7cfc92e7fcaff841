// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <cppless/detail/fiber/function_task.hpp>
#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber {

/// Tasks that are waited for together.
///
///   fiber::task_group group;
///   for (part& each : parts) group.run([&each] { each.compute(); });
///   group.wait();
///
/// Thread safety: `run`, also by tasks of the group, `request_stop` and `get_token` from anywhere;
/// `wait` and the destructor by one fiber or thread at a time.
class task_group {
 public:
  task_group() = default;
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  /// Waits for all tasks; their exceptions are dropped.
  ~task_group();

  /// Has `function()` run as a task. References that it keeps must be good until `wait` returns.
  template <class F>
  void run(F&& function) {
    using made = member_task<std::decay_t<F>>;
    detail::worker& self = detail::current_or_attached();
    void* const place = self.blocks.allocate(sizeof(made));
    made& member = *make<made>(place, *this, std::forward<F>(function));
    pending_.fetch_add(1, std::memory_order_relaxed);
    detail::submit(self, member);
  }

  /// Returns when all tasks have ended, those that were added meanwhile included. The caller runs
  /// those of its own that nobody has begun. Throws the exception that came first.
  void wait();

  /// Tasks that have not begun are not begun any more. Those that have should look at the token.
  void request_stop();
  std::stop_token get_token();

 private:
  struct member : detail::task {
    member(const detail::task_kind& of, task_group& in) noexcept
        : task(of, task::outcome::not_called), group(in) {
      // Marks it for `wait`: nobody listens to a member, so that the state is free for it.
      state.store(reinterpret_cast<std::uintptr_t>(&in), std::memory_order_relaxed);
    }
    task_group& group;
  };

  template <class F>
  struct member_task : member {
    template <class G>
    member_task(task_group& in, G&& given)
        : member(kind_of, in), function(std::forward<G>(given)) {}

    static void run(detail::task& base) noexcept {
      auto& self = static_cast<member_task&>(base);
      if (self.group.is_stopped_.load(std::memory_order_relaxed)) return;
      try {
        std::move(self.function)();
      } catch (...) {
        self.group.keep(std::current_exception());
      }
    }
    static void execute(detail::task& base) noexcept {
      task_group& group = static_cast<member_task&>(base).group;
      run(base);
      if (base.locals != nullptr) detail::destroy_locals(base);
      destroy(base);
      group.ended(1);
    }
    static void destroy(detail::task& base) noexcept {
      auto& self = static_cast<member_task&>(base);
      self.~member_task();
      detail::free_block(&self, sizeof(self));
    }

    static constexpr detail::task_kind kind_of{&run, &execute, &destroy, detail::name_of<F>()};
    F function;
  };

  template <class Made, class F>
  static Made* make(void* place, task_group& in, F&& function) {
    try {
      return new (place) Made(in, std::forward<F>(function));
    } catch (...) {
      detail::free_block(place, sizeof(Made));
      throw;
    }
  }

  static constexpr std::uint32_t somebody_waits = 0x80000000;

  void keep(std::exception_ptr error) noexcept;
  void ended(std::uint32_t count) noexcept;
  void run_own() noexcept;
  void wait_for_others() noexcept;

  /// Tasks that have not ended, and whether somebody waits for that.
  std::atomic<std::uint32_t> pending_{0};
  detail::waiter* waiting_ = nullptr;
  std::atomic<bool> is_stopped_{false};
  detail::spin_lock lock_;  // of what follows
  std::exception_ptr error_;
  std::stop_source stop_{std::nostopstate};  // made when first asked for: it allocates
};

namespace detail {

/// A function that lives with who waits for it.
template <class F>
struct borrowed_task : result_task<void> {
  explicit borrowed_task(F& given) noexcept
      : result_task<void>(kind_of, task::outcome::none), function(given) {}

  static void run(task& base) noexcept {
    auto& self = static_cast<borrowed_task&>(base);
    keep_result<void>(self, self.function);
  }
  static void execute(task& base) noexcept {
    run(base);
    finish(base);
  }
  void join() noexcept {
    worker* const self = current();
    if (take_in_place(self, *this)) [[likely]] {
      task* const outer = self->current;
      self->current = this;
      run(*this);
      if (locals != nullptr) [[unlikely]] destroy_locals(*this);
      current()->current = outer;  // maybe another thread's by now
    } else if (!is_done()) {
      wait_until_done(*this);
    }
  }

  static constexpr task_kind kind_of{&run, &execute, nullptr, name_of<F>()};
  F& function;
};

}  // namespace detail

/// Calls all functions and returns when all have returned: the first by the caller, the others by
/// whoever is free, which is mostly the caller as well. The cheapest form of fork and join: the
/// tasks live on the caller's stack. Throws one of the exceptions, once all have ended.
template <class F, class... Rest>
void fork_join(F&& first, Rest&&... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    first();
  } else {
    auto others = [&rest...] { fiber::fork_join(rest...); };
    detail::borrowed_task<decltype(others)> forked(others);
    detail::submit(detail::current_or_attached(), forked);
    {
      struct joiner {
        decltype(forked)& to;
        ~joiner() { to.join(); }
      } const last{forked};
      first();
    }
    forked.take();
  }
}

}  // namespace cppless::fiber

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <cppless/detail/base/collect.hpp>
#include <cppless/errors.hpp>
#include <cppless/fiber/async.hpp>

namespace cppless::fiber {

namespace detail {

template <class F, class T>
struct then_result {
  using type = std::invoke_result_t<F, T>;
};
template <class F>
struct then_result<F, void> {
  using type = std::invoke_result_t<F>;
};

/// The function of a task that is made when another's result is awaited, and begun when that comes.
template <class T, class F>
class continuation {
 public:
  template <class G>
  continuation(result_task<T>& from, G&& function)
      : from_(from), function_(std::forward<G>(function)) {}
  continuation(continuation&&) = delete;
  ~continuation() { release_task(from_); }

  using user_function = F;

  typename then_result<F, T>::type operator()() && {
    if constexpr (std::is_void_v<T>) {
      from_.take();
      return std::invoke(std::move(function_));
    } else {
      return std::invoke(std::move(function_), from_.take());
    }
  }

  void begin_when_ready(task& itself) {
    link_.to = &itself;
    link_.notify = [](listener& told) noexcept {
      submit(current_or_attached(), *static_cast<link&>(told).to);
    };
    from_.start_if_deferred();
    if (!from_.listen(link_)) link_.notify(link_);
  }

 private:
  struct link : listener {
    task* to = nullptr;
  };

  result_task<T>& from_;
  link link_;
  F function_;
};

}  // namespace detail

template <class T>
template <class F>
auto future<T>::then(F&& function) {
  using call = detail::continuation<T, std::decay_t<F>>;
  using result = typename detail::then_result<std::decay_t<F>, T>::type;
  using made = detail::function_task<result, call>;
  void* const place = detail::current_or_attached().blocks.allocate(sizeof(made));
  made& next = *new (place) made(this->release(), std::forward<F>(function));
  next.references.store(2, std::memory_order_relaxed);
  next.flags = detail::task::runner_refers;
  next.may_be_shared = true;
  future<result> to(next);
  next.function.begin_when_ready(next);
  return to;
}

/// A future of all results in order (of nothing, if they are of nothing); of the first error, in
/// their order, if any fails, once all have finished.
template <class T>
auto when_all(std::vector<future<T>> futures) {
  return fiber::async([futures = std::move(futures)]() mutable {
    return cppless::detail::collect(futures);
  });
}

/// Which future was first, and its result.
template <class T>
struct first_result {
  std::size_t index;
  T value;
};
template <>
struct first_result<void> {
  std::size_t index;
};

namespace detail {

/// Waits until one of the tasks is done, and says which. Deferred ones are begun.
std::size_t wait_for_any(const std::vector<task*>& tasks);

}  // namespace detail

/// A future of the first result to come in, or of its error. The others go on; a task of its own
/// waits for them. Throws `rejected` if there are none: it would never be ready.
template <class T>
future<first_result<T>> when_any(std::vector<future<T>> futures) {
  if (futures.empty()) throw rejected("when_any: 0 futures were given, at least 1 is needed");
  return fiber::async([futures = std::move(futures)]() mutable -> first_result<T> {
    std::vector<detail::task*> tasks;
    for (const future<T>& each : futures) tasks.push_back(each.awaited());
    const std::size_t index = detail::wait_for_any(tasks);
    future<T> first = std::move(futures[index]);
    if (futures.size() > 1) fiber::detach([rest = std::move(futures)] {});
    if constexpr (std::is_void_v<T>) {
      first.get();
      return {index};
    } else {
      return {index, first.get()};
    }
  });
}

}  // namespace cppless::fiber

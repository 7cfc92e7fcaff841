// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cppless/detail/task/map_plan.hpp>
#include <cppless/future.hpp>

namespace cppless::detail {

/// An element of a chunk whose call threw.
struct chunk_failure {
  std::uint64_t place = 0;
  std::string type;
  std::string what;
};

/// What became of a chunk's elements: the values of those that did not throw, in their order.
template <class R>
struct chunk_outcome {
  std::vector<R> values;
  std::vector<chunk_failure> failures;
};
template <>
struct chunk_outcome<void> {
  std::vector<chunk_failure> failures;
};

/// While one element of a chunk is run: what it did to shared variables can be undone.
class element_scope {
 public:
  element_scope();
  /// Of the exception being handled.
  chunk_failure fail(std::size_t place);

 private:
  update_log before_;
};

/// The error that a chunk's element failed with.
std::exception_ptr error_of(const chunk_failure& failure, const char* task, task_id id);

/// Throws `rejected`: a chunk's outcome does not fit its elements.
[[noreturn]] void reject_outcome(std::size_t place, std::size_t count);

template <class F>
struct chunk_state {
  F callable;

  static constexpr int capture_count() { return 1; }
  template <int>
  F& capture() {
    return callable;
  }
  F& called() { return callable; }
};
template <class F>
  requires is_stateless<F>
struct chunk_state<F> {
  explicit chunk_state(const F&) {}
  F called() const { return std::bit_cast<F>(std::byte{}); }
};

/// Calls `F` with one element after the other: the task of a chunk.
template <class F, class Parameter>
struct chunk_call : chunk_state<F> {
  using result = typename result_of<F, type_list<Parameter>>::type;

  chunk_outcome<result> operator()(std::vector<Parameter> elements) {
    chunk_outcome<result> outcome;
    if constexpr (!std::is_void_v<result>) outcome.values.reserve(elements.size());
    auto&& callable = this->called();
    for (std::size_t place = 0; place < elements.size(); ++place) {
      element_scope scope;
      try {
        Parameter element(std::move(elements[place]));
        if constexpr (std::is_void_v<result>) {
          call(callable, element);
        } else {
          outcome.values.push_back(call(callable, element));
        }
      } catch (const std::bad_alloc&) {
        throw;  // the memory limit is the chunk's
      } catch (...) {
        outcome.failures.push_back(scope.fail(place));
      }
    }
    return outcome;
  }
};

template <class Parameters>
struct only_of;
template <class T>
struct only_of<type_list<T>> {
  using type = T;
};

/// The outcome of each item of a map, in the items' order.
template <class R>
struct item_outcome {
  std::optional<stored_t<R>> value;
  std::exception_ptr error;
};

/// One task for each item, in that order.
template <class Config, class F, class Items>
auto run_each(instance& on, const F& callable, const Items& items,
              const std::vector<std::size_t>& order) {
  using result = result_t<F, typename Items::value>;
  std::vector<future<result>> futures(items.size());
  for (const std::size_t item : order) {
    futures[item] = items.with(
        item, [&](const auto& element) { return async<Config>(on, callable, element); });
  }
  for (const future<result>& each : futures) each.wait();
  std::vector<item_outcome<result>> outcomes(items.size());
  for (std::size_t item = 0; item < items.size(); ++item) {
    try {
      if constexpr (std::is_void_v<result>) {
        futures[item].get();
        outcomes[item].value.emplace();
      } else {
        outcomes[item].value.emplace(futures[item].get());
      }
    } catch (...) {
      outcomes[item].error = std::current_exception();
    }
  }
  return outcomes;
}

/// Puts a chunk's outcome where it belongs; `places` are its items.
template <class R>
void take_chunk(future<chunk_outcome<R>>& from, const std::size_t* places, std::size_t count,
                const char* task, std::vector<item_outcome<R>>& to) {
  from.wait();
  const task_id id = from.statistics().id;
  try {
    chunk_outcome<R> outcome = from.get();
    auto failure = outcome.failures.begin();
    std::size_t value = 0;
    for (std::size_t at = 0; at < count; ++at) {
      if (failure != outcome.failures.end() && failure->place == at) {
        to[places[at]].error = error_of(*failure++, task, id);
      } else if constexpr (std::is_void_v<R>) {
        to[places[at]].value.emplace();
      } else if (value < outcome.values.size()) {
        to[places[at]].value.emplace(std::move(outcome.values[value++]));
      } else {
        reject_outcome(at, count);
      }
    }
    if (failure != outcome.failures.end()) reject_outcome(failure->place, count);
  } catch (...) {
    for (std::size_t at = 0; at < count; ++at) to[places[at]].error = std::current_exception();
  }
}

/// One task for several items, in that order.
template <class Config, class F, class Items>
auto run_chunks(instance& on, const F& callable, const Items& items,
                const std::vector<std::size_t>& order, const std::vector<std::size_t>& ends) {
  using parameter = typename only_of<parameters_t<F, typename Items::value>>::type;
  using call = chunk_call<F, parameter>;
  using result = typename call::result;
  const call chunk{chunk_state<F>(callable)};
  std::vector<future<chunk_outcome<result>>> futures;
  futures.reserve(ends.size());
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    std::vector<parameter> elements;
    elements.reserve(end - at);
    for (; at < end; ++at) {
      items.with(order[at], [&](const auto& element) {
        elements.push_back(static_cast<parameter>(element));
      });
    }
    futures.push_back(async<Config>(on, chunk, elements));
  }
  static constexpr constant_name task = CPPLESS_CONSTANT_NAME(F);
  std::vector<item_outcome<result>> outcomes(items.size());
  for (std::size_t chunk = 0, begin = 0; chunk < ends.size(); begin = ends[chunk++]) {
    take_chunk(futures[chunk], order.data() + begin, ends[chunk] - begin, task.text(), outcomes);
  }
  return outcomes;
}

/// The elements' results, where items may be parts of them; or the first error.
template <class R, class Join>
auto join_items(std::vector<item_outcome<R>>& outcomes, const std::vector<std::size_t>& parts,
                const Join& join) {
  for (const item_outcome<R>& each : outcomes) {
    if (each.error) std::rethrow_exception(each.error);
  }
  if constexpr (!std::is_void_v<R>) {
    std::vector<R> results;
    results.reserve(parts.size());
    std::size_t item = 0;
    const auto next = [&]() -> R&& { return std::move(outcomes[item++].value).value(); };
    for (const std::size_t count : parts) {
      if (count == 0) {
        results.push_back(next());
        continue;
      }
      if constexpr (!std::is_same_v<Join, no_policy>) {
        std::vector<R> of_parts;
        of_parts.reserve(count);
        while (of_parts.size() < count) of_parts.push_back(next());
        results.push_back(join(std::move(of_parts)));
      }
    }
    return results;
  }
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace cppless::fiber {

namespace detail {

/// Never used again, so that a variable never finds what one before it has left.
std::uint64_t new_local_key() noexcept;
/// What the running task, or plain thread, holds under this key; null if nothing.
void* find_local(std::uint64_t key);
/// From now on `destroy(value)` is called at the end of the task or thread. Throws std::bad_alloc.
void add_local(std::uint64_t key, void* value, void (*destroy)(void*) noexcept);

}  // namespace detail

/// What thread_local is to threads: a variable of which each task has one of its own, and each
/// plain thread too. Tasks need it in place of thread_local, because they may go on on another
/// thread after each wait, and because a task may be called in place by the one that asks for its
/// result.
///
///   fiber::fiber_local<std::mt19937> random{[] { return std::mt19937(seed); }};
///   ... (*random)() ...
///
/// A task's value is made when the task first asks for it, and destroyed when its function has
/// returned, on the fiber that ran it, in the reverse order of making; also if this object is gone
/// by then.
///
/// Thread safety: everything but the destructor. References stay good until the task ends; giving
/// one to another task is the caller's affair.
/// Costs: a search among the task's values, which is fast for a few; each value is an allocation.
template <class T>
class fiber_local {
 public:
  /// Values are `T()`.
  fiber_local()
    requires std::is_default_constructible_v<T>
      : fiber_local([] { return T(); }) {}
  /// Values are what `make()` returns. Tasks call it concurrently.
  explicit fiber_local(std::function<T()> make) : make_(std::move(make)) {}
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  /// Throws what making the value does; then it is made anew the next time.
  T& get() {
    if (void* const found = detail::find_local(key_)) return *static_cast<T*>(found);
    std::unique_ptr<T> made(new T(make_()));
    detail::add_local(key_, made.get(),
                      [](void* value) noexcept { delete static_cast<T*>(value); });
    return *made.release();
  }

  T& operator*() { return get(); }
  T* operator->() { return &get(); }

 private:
  const std::uint64_t key_ = detail::new_local_key();
  const std::function<T()> make_;
};

}  // namespace cppless::fiber

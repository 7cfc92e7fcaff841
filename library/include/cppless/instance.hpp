// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <cppless/detail/task/instance_core.hpp>

namespace cppless {

/// The live side of a dispatcher: owns its workers or connections. Made by a dispatcher's
/// `create_instance()`; the type is the same for all of them. (thesis 3.2.1)
///
/// Ownership: movable, not copyable. Destruction cancels what is outstanding, ends the workers and
/// returns when they are gone. Result variables passed to `dispatch` must live until their id was
/// returned or the instance is gone; futures may outlive the instance.
/// Thread safety: all members may be called from several threads at once.
class instance {
 public:
  instance(instance&&) noexcept = default;
  instance& operator=(instance&& other) noexcept {
    if (core_ != nullptr && core_ != other.core_) core_->close();
    core_ = std::move(other.core_);
    return *this;
  }
  ~instance() {
    if (core_ != nullptr) core_->close();
  }

  /// Blocks until any task dispatched with a result variable finishes; each id is returned exactly
  /// once. Throws the error of a task that failed (`error::id()` tells which; its result variable is
  /// unchanged, all others are unharmed), `rejected` when nothing is outstanding.
  completion wait_one() { return core_->wait_one(); }

  /// Ends one task: it is not started, or its worker is stopped. It then fails with `cancelled`.
  /// False if it had finished already.
  bool cancel(task_id id) { return core_->cancel(id); }

  /// Takes over a transport; for writers of dispatchers.
  explicit instance(std::shared_ptr<detail::instance_core> core) noexcept
      : core_(std::move(core)) {}

  /// For the templates of this library and writers of dispatchers.
  const std::shared_ptr<detail::instance_core>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::instance_core> core_;
};

/// A recipe for instances: cheap to copy, holds no resources.
template <class D>
concept dispatcher = requires(const D& recipe) {
  { recipe.create_instance() } -> std::same_as<instance>;
};

}  // namespace cppless

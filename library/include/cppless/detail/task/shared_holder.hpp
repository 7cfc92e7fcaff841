// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <cppless/binary_archive.hpp>
#include <cppless/detail/task/shared_bytes.hpp>

namespace cppless::detail {

/// A shared value in this process, and its encoding once somebody needed that.
template <class T>
class shared_holder {
 public:
  explicit shared_holder(std::shared_ptr<const T> value) : value(std::move(value)) {}

  std::shared_ptr<const shared_bytes> encoded() const {
    std::call_once(once_, [this] {
      encoded_ = std::make_shared<const shared_bytes>(binary_archive::serialize(*value));
    });
    return encoded_;
  }

  const std::shared_ptr<const T> value;

 private:
  mutable std::once_flag once_;
  mutable std::shared_ptr<const shared_bytes> encoded_;
};

/// The shared values of a type that this process has decoded and used last.
template <class T>
class shared_cache {
 public:
  using pointer = std::shared_ptr<const shared_holder<T>>;

  static shared_cache& get() {
    static shared_cache cache;
    return cache;
  }

  pointer find(const content_key& key) {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < known_.size(); ++at) {
      if (known_[at].what == nullptr || known_[at].key != key) continue;
      return to_front(at);
    }
    return nullptr;
  }

  /// In place of the one whose last use is longest ago. Of two threads that add one the first wins.
  pointer add(const content_key& key, pointer added) {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < known_.size(); ++at) {
      if (known_[at].what != nullptr && known_[at].key == key) return to_front(at);
    }
    known_.back() = {key, std::move(added)};
    return to_front(known_.size() - 1);
  }

 private:
  struct entry {
    content_key key{};
    pointer what;
  };

  pointer to_front(std::size_t at) {
    for (; at != 0; --at) std::swap(known_[at], known_[at - 1]);
    return known_.front().what;
  }

  std::mutex mutex_;
  std::array<entry, 16> known_;
};

/// Reads what `write_shared` wrote, in this process or another. Throws `rejected` if the bytes are
/// malformed or the value cannot be found.
template <class T>
std::shared_ptr<const shared_holder<T>> read_shared(source& from) {
  const shared_reference reference = shared_reference::read(from);
  shared_cache<T>& cache = shared_cache<T>::get();
  if (auto known = cache.find(reference.key)) {
    reference.skip(from);
    return known;
  }
  bytes storage;
  const std::span<const std::byte> data = reference.locate(from, storage);
  return cache.add(reference.key, std::make_shared<const shared_holder<T>>(
                                      std::make_shared<const T>(
                                          binary_archive::deserialize<T>(data))));
}

}  // namespace cppless::detail

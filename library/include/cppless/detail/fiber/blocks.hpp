// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cppless::fiber::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool blocks_are_pooled = false;  // so that mistakes with freed tasks are seen
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool blocks_are_pooled = false;
#else
inline constexpr bool blocks_are_pooled = true;
#endif
#else
inline constexpr bool blocks_are_pooled = true;
#endif

/// The blocks that tasks live in, of one thread. A block may be given back on any thread: too many
/// on one go to the others in batches.
class block_lists {
 public:
  static constexpr std::size_t step = 64, largest = 512;

  [[gnu::always_inline]] void* allocate(std::size_t size) {
    if (blocks_are_pooled && size <= largest) [[likely]] {
      list& from = lists_[(size - 1) / step];
      if (free_block* const block = from.first) [[likely]] {
        from.first = block->next;
        --from.count;
        return block;
      }
    }
    return allocate_slowly(size);
  }

  [[gnu::always_inline]] void deallocate(void* block, std::size_t size) noexcept {
    if (blocks_are_pooled && size <= largest) [[likely]] {
      list& to = lists_[(size - 1) / step];
      if (to.count < most) [[likely]] {
        to.first = new (block) free_block{to.first};
        ++to.count;
        return;
      }
    }
    deallocate_slowly(block, size);
  }

 private:
  struct free_block {
    free_block* next;
    void* operator new(std::size_t, void* place) noexcept { return place; }
  };
  struct list {
    free_block* first = nullptr;
    std::uint32_t count = 0;
  };
  struct shared_lists;
  static constexpr std::uint32_t batch = 256, most = 4 * batch;

  static shared_lists& shared() noexcept;
  void* allocate_slowly(std::size_t size);
  void deallocate_slowly(void* block, std::size_t size) noexcept;

  list lists_[largest / step];
};

}  // namespace cppless::fiber::detail

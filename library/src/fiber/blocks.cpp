// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/fiber/blocks.hpp>

#include <mutex>
#include <new>

#include <cppless/detail/fiber/waiting.hpp>

namespace cppless::fiber::detail {

/// Blocks that no thread holds. Chunks are never given back to the system: threads come and go, and
/// any of their blocks may still be in use.
struct block_lists::shared_lists {
  spin_lock lock;
  list lists[largest / step];
  free_block* chunks = nullptr;  // what leak checkers find them by
};

block_lists::shared_lists& block_lists::shared() noexcept {
  static shared_lists* const lists = new shared_lists;  // tasks may outlive static destructors
  return *lists;
}

void* block_lists::allocate_slowly(std::size_t size) {
  if (!blocks_are_pooled || size > largest) {
    return ::operator new(size, std::align_val_t{step});
  }
  const std::size_t of = (size - 1) / step;
  const std::size_t rounded = (of + 1) * step;
  list& mine = lists_[of];
  {
    shared_lists& all = shared();
    const std::lock_guard hold(all.lock);
    list& from = all.lists[of];
    while (from.first != nullptr && mine.count < batch) {
      free_block* const block = from.first;
      from.first = block->next;
      mine.first = new (block) free_block{mine.first};
      --from.count;
      ++mine.count;
    }
  }
  if (mine.count == 0) {
    char* const chunk = static_cast<char*>(
        ::operator new(step + batch * rounded, std::align_val_t{step}));
    for (std::size_t i = batch; i-- > 0;) {
      mine.first = new (chunk + step + i * rounded) free_block{mine.first};
    }
    mine.count = batch;
    shared_lists& all = shared();
    const std::lock_guard hold(all.lock);
    all.chunks = new (chunk) free_block{all.chunks};
  }
  return allocate(size);
}

void block_lists::deallocate_slowly(void* block, std::size_t size) noexcept {
  if (!blocks_are_pooled || size > largest) {
    ::operator delete(block, std::align_val_t{step});
    return;
  }
  list& mine = lists_[(size - 1) / step];
  {
    shared_lists& all = shared();
    const std::lock_guard hold(all.lock);
    list& to = all.lists[(size - 1) / step];
    while (mine.count > most - batch) {
      free_block* const given = mine.first;
      mine.first = given->next;
      to.first = new (given) free_block{to.first};
      --mine.count;
      ++to.count;
    }
  }
  deallocate(block, size);
}

}  // namespace cppless::fiber::detail

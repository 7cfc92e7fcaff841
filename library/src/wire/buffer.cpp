// SPDX-License-Identifier: Apache-2.0
#include <cppless/detail/wire/buffer.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

namespace cppless::detail {

void nesting_limit::too_deep(std::size_t used) const {
  throw rejected("nested too deeply: walking the value took " + std::to_string(used) +
                 " bytes of stack, the limit is " + std::to_string(limit_));
}

void sink::write_beyond(const std::byte* from, std::size_t n) {
  grow(n);
  std::memcpy(cur_, from, n);
  cur_ += n;
}

void counting_sink::grow(std::size_t more) {
  passed_ += size();
  if (more > static_cast<std::size_t>(end_ - begin_)) {
    large_ = {};
    large_ = bytes(more);
    begin_ = large_.data();
    end_ = begin_ + more;
  }
  cur_ = begin_;
}

heap_sink::heap_sink(std::size_t capacity) {
  if (capacity != 0) grow(capacity);
}

heap_sink::~heap_sink() { std::free(begin_); }

void heap_sink::grow(std::size_t more) {
  const std::size_t used = size();
  if (more > std::numeric_limits<std::size_t>::max() / 4 - used) throw std::bad_alloc();
  const std::size_t capacity =
      std::max({used + more, 2 * static_cast<std::size_t>(end_ - begin_), std::size_t{64}});
  void* memory = std::realloc(begin_, capacity);
  if (memory == nullptr) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(memory);
  cur_ = begin_ + used;
  end_ = begin_ + capacity;
}

bytes heap_sink::release() {
  const std::size_t used = size();
  std::byte* memory = begin_;
  begin_ = cur_ = end_ = nullptr;
  if (used == 0) {
    std::free(memory);
    return {};
  }
  return bytes::adopt(memory, used);
}

void source::refill(std::size_t n) { truncated(n); }

std::size_t source::fetch(std::byte*, std::size_t n) { truncated(n); }

void source::move_window(std::size_t n) {
  if (n > remaining()) truncated(n);
  refill(n);
}

void source::read_beyond(std::byte* to, std::size_t n) {
  if (n > remaining()) truncated(n);
  const std::size_t here = in_window();
  if (here != 0) std::memcpy(to, cur_, here);
  cur_ = end_;
  const std::size_t fetched = here + fetch(to + here, n - here);
  if (fetched < n) {
    refill(n - fetched);
    std::memcpy(to + fetched, cur_, n - fetched);
    cur_ += n - fetched;
  }
}

void source::truncated(std::size_t wanted) const {
  throw rejected("malformed data: " + std::to_string(wanted) + " bytes are needed at position " +
                 std::to_string(position()) + ", only " + std::to_string(remaining()) +
                 " are left");
}

void source::too_many(std::uint64_t n, std::size_t least, std::uint64_t most) const {
  throw rejected("malformed data: " + std::to_string(n) + " elements of at least " +
                 std::to_string(least) + " bytes at position " + std::to_string(position()) +
                 ", but the remaining " + std::to_string(remaining()) + " bytes allow only " +
                 std::to_string(most));
}

void source::left_over() const {
  throw rejected("malformed data: " + std::to_string(remaining()) +
                 " bytes are left over behind the value, which ends at position " +
                 std::to_string(position()) + "; the limit is 0");
}

void reject_value(const char* type, std::uint64_t value, std::uint64_t limit) {
  throw rejected("malformed data: " + std::to_string(value) + " is not a value of " + type +
                 ", the limit is " + std::to_string(limit));
}

void reject_relation(const std::type_info& base, const std::type_info& derived) {
  throw rejected(std::string("malformed data: a pointer to ") + base.name() +
                 " shall point to a " + derived.name() + ", which is not registered as derived");
}

void reject(const char* message) { throw rejected(message); }

}  // namespace cppless::detail

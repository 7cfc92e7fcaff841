// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cppless::detail {

/// What stands before the result in a function's answer (docs/formats/functions.md).
struct function_frame {
  static constexpr std::uint8_t format = 2;
  static constexpr std::size_t size = 26;

  bool is_cold = false;
  bool has_updates = false;  ///< Of shared variables, behind the result.
  std::uint64_t run_ns = 0;
  std::uint64_t peak_memory = 0;  ///< Bytes.
  std::uint64_t began_ns = 0;     ///< Since 1970, by the clock of wherever it runs.

  /// Writes `size` bytes.
  void write(std::byte* to) const noexcept {
    to[0] = std::byte{format};
    to[1] = static_cast<std::byte>((is_cold ? 1 : 0) | (has_updates ? 2 : 0));
    std::memcpy(to + 2, &run_ns, sizeof run_ns);
    std::memcpy(to + 10, &peak_memory, sizeof peak_memory);
    std::memcpy(to + 18, &began_ns, sizeof began_ns);
  }
};

}  // namespace cppless::detail

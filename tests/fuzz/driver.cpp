// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that the sanitizer sees a read behind its end.
  const cppless::bytes copy(data + 1, size - 1);
  fuzz::decode(data[0], copy.data(), copy.size());
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned random) {
  static const fuzz::seeds seeds = fuzz::make_seeds();
  if (random % 16 == 0) {
    const std::string& chosen = seeds[random / 16 % seeds.size()];
    size = std::min(chosen.size(), most);
    std::memcpy(data, chosen.data(), size);
  }
  return LLVMFuzzerMutate(data, size, most);
}

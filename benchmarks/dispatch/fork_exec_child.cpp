// SPDX-License-Identifier: Apache-2.0
/// The program that fork_exec starts for each task: dynamically linked C++ that reads its arguments
/// from standard input and writes its result to standard output, and does nothing else.

#include <iostream>

#include "workload.hpp"

int main() {
  std::ios::sync_with_stdio(false);
  std::uint64_t header[2] = {};
  std::cin.read(reinterpret_cast<char*>(header), sizeof header);
  bench::payload bytes(header[1]);
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!std::cin) {
    return 1;
  }
  const std::uint64_t answer = bench::answer_of(header[0], bytes);
  std::cout.write(reinterpret_cast<const char*>(&answer), sizeof answer);
}

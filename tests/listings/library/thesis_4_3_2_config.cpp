// SPDX-License-Identifier: Apache-2.0
// RUN: output
// OUT: 512 MB, 64 MB: 42
// OUT: 512 MB, 64 MB, 10 s: 42
// Thesis 4.3.2, "Configuration": a lambda with 512 MB of memory and 64 MB of ephemeral storage, and
// the struct that such a configuration is like. The text tells what the first listing does, but the
// listing itself is missing from our copy; it is written here after paper figure 3.
#include <cppless/cppless.hpp>

#include <iostream>

namespace lambda = cppless::lambda;

struct config
{
  constexpr static unsigned int memory = 512; // MB
  constexpr static unsigned int ephemeral_storage = 64; // MB
  constexpr static unsigned int timeout = 10; // seconds
};

int main() {
  auto instance = cppless::local_dispatcher().create_instance();
  using small = lambda::config<lambda::with_memory<512>, lambda::with_ephemeral_storage<64>>;
  int first = 0, second = 0;
  cppless::dispatch<small>(instance, [] { return 42; }, first);
  cppless::dispatch<config>(instance, [] { return 42; }, second);
  cppless::wait(instance, 2);
  std::cout << small::memory << " MB, " << small::ephemeral_storage << " MB: " << first << std::endl;
  std::cout << config::memory << " MB, " << config::ephemeral_storage << " MB, " << config::timeout
            << " s: " << second << std::endl;
}

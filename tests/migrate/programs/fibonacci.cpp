// A future per call.
// OUT: 55
#include <cstdint>
#include <future>
#include <iostream>

std::uint64_t fibonacci(std::uint64_t n) {
  if (n < 2) return n;
  std::future<std::uint64_t> n1 = std::async(fibonacci, n - 1);
  return fibonacci(n - 2) + n1.get();
}

int main() { std::cout << fibonacci(10) << "\n"; }

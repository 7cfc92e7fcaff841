// The seed's first listing.
// OUT: 17
#include <future>
#include <iostream>

int square(int n) { return n * n; }

int main() {
  std::future<int> square_future = std::async(square, 3);
  std::future<int> cube_future = std::async([](int n) {
    return n * n * n;
  }, 2);
  std::cout << (square_future.get() + cube_future.get());
}

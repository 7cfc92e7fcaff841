// The seed's listing of a promise.
// OUT: 14
#include <future>
#include <iostream>

int main() {
  std::promise<int> int_promise;
  std::future<int> int_future = int_promise.get_future();
  //int_future.get();
  int_promise.set_value(14);
  std::cout << int_future.get();
}

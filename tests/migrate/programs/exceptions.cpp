// Exceptions through tasks and promises, and the errors of futures.
// OUT: task: too large
// OUT: promise: 42
// OUT: broken_promise no_state future_already_retrieved promise_already_satisfied
#include <future>
#include <iostream>
#include <stdexcept>

template <class F>
const char* error_of(F&& f) {
  try {
    f();
  } catch (const std::future_error& error) {
    if (error.code() == std::future_errc::broken_promise) return "broken_promise";
    if (error.code() == std::future_errc::no_state) return "no_state";
    if (error.code() == std::future_errc::future_already_retrieved) return "future_already_retrieved";
    if (error.code() == std::future_errc::promise_already_satisfied) return "promise_already_satisfied";
  }
  return "none";
}

int main() {
  auto failing = std::async([]() -> int { throw std::runtime_error("too large"); });
  try {
    failing.get();
  } catch (const std::runtime_error& error) {
    std::cout << "task: " << error.what() << "\n";
  }
  std::promise<int> promise;
  promise.set_exception(std::make_exception_ptr(42));
  try {
    promise.get_future().get();
  } catch (int value) {
    std::cout << "promise: " << value << "\n";
  }
  std::future<int> orphan;
  {
    std::promise<int> dropped;
    orphan = dropped.get_future();
  }
  std::promise<void> twice;
  twice.set_value();
  auto first = twice.get_future();
  std::cout << error_of([&] { orphan.get(); }) << " "
            << error_of([] { std::promise<int> moved, to(std::move(moved)); moved.set_value(1); }) << " "
            << error_of([&] { twice.get_future(); }) << " " << error_of([&] { twice.set_value(); })
            << "\n";
}

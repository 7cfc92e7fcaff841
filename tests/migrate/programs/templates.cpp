// Templates, instantiated and not, and generic lambdas.
// OUT: 1 2 3 4 5 6
#include <future>
#include <iostream>
#include <utility>
#include <vector>

template <class F>
auto start(F f) -> std::future<decltype(f())> {
  return std::async(std::launch::async, std::move(f));
}

template <class F, class... Args>
auto start_now(F&& f, Args&&... args) {
  return std::async(std::forward<F>(f), std::forward<Args>(args)...);
}

template <class T>
class box {
 public:
  void put(T value) { promise_.set_value(std::move(value)); }
  T take() { return future_.get(); }

 private:
  std::promise<T> promise_;
  std::future<T> future_ = promise_.get_future();
};

template <template <class> class Future, class T>
T value_of(Future<T>& future) {
  return future.get();
}

template <class T>
std::future<T> never_used(T value) {
  std::future<T> result = std::async(std::launch::async, [value] { return value; });
  return result;
}

template <class T>
auto lazily(T value) {
  return std::async(std::launch::deferred, [value] { return value; });  // NOTE: std::launch::deferred
}

template <template <class> class Future>
struct holder {
  Future<int> held;
};

int main() {
  auto one = start([] { return 1; });
  box<int> two;
  two.put(2);
  auto three = start_now([](int n) { return n; }, 3);
  auto generic = [](auto value) { return std::async([value] { return value; }); };
  holder<std::future> four{generic(4)};
  std::future<int> five = lazily(5);  // NOTE: goes with
  std::cout << value_of(one) << " " << two.take() << " " << three.get() << " " << four.held.get() << " "
            << five.get() << " " << generic(6).get() << "\n";
}

// No name of ours: `future` and `async` of others.
// OUT: 3
#include <iostream>

namespace other {
template <class T>
struct future {
  T get() { return value; }
  T value;
};
template <class F>
auto async(F f) { return future<decltype(f())>{f()}; }
}  // namespace other

int main() {
  other::future<int> three = other::async([] { return 3; });
  std::cout << three.get() << "\n";
}

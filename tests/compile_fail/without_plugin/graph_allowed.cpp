// SPDX-License-Identifier: Apache-2.0
// ERROR-FREE
#include <cppless/cppless.hpp>
#include <cppless/coroutine.hpp>

#include <string>
#include <vector>

int length(const std::string& text) { return static_cast<int>(text.size()); }

cppless::future<long> twice(cppless::future<long> x) { co_return 2 * co_await std::move(x); }

int main() {
  cppless::instance workers = cppless::local_dispatcher().create_instance();
  cppless::graph::builder builder{workers};
  cppless::graph::builder<cppless::graph::delegating_executor<>> other{cppless::inline_dispatcher()};
  using config = cppless::lambda::config<cppless::lambda::with_timeout<3>>;
  using cppless::execution::schedule;
  using cppless::execution::then;
  auto a = schedule(builder);
  auto text = then<config>(a, [] { return std::string("text"); });
  auto size = then(text, cppless::fn<&length>);
  auto converted = then(size, a, [](double x) { return x; });
  std::vector<cppless::graph::sender<double>> several(3, converted);
  cppless::task sum = [](std::vector<double> all, int n) { return all.size() + n; };
  auto last = then(several, size, sum);
  auto generic = then(last, [](auto n) { return 1L + static_cast<long>(n); });
  auto bound = then(size, cppless::bind([](int n, int x) { return n * x; }, 3));
  twice(generic->future());
}

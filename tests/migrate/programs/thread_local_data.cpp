// Tasks that use data of their thread keep it: in the lambda, behind calls, in a static member.
// OUT: 1 1 2 3 4
#include <future>
#include <iostream>

thread_local int counter = 0;

struct totals {
  static thread_local int sum;
};
thread_local int totals::sum = 0;

int count() { return ++counter; }
int indirectly() { return count(); }
int free_of_it() { return 4; }

struct functor {
  int operator()() const {
    totals::sum += 3;
    return totals::sum;
  }
};

int main() {
  std::future<int> direct = std::async(std::launch::async, [] { return ++counter; });  // NOTE: uses 'counter', which is thread_local NOTE: goes with
  auto behind = std::async(std::launch::async, indirectly);  // NOTE: uses 'counter', which is thread_local
  auto none = std::async(std::launch::async, [] { return 2; });
  auto member = std::async(std::launch::async, functor());  // NOTE: uses 'sum', which is thread_local
  auto free = std::async(std::launch::async, free_of_it);
  std::cout << direct.get() << " " << behind.get() << " " << none.get() << " " << member.get() << " "
            << free.get() << "\n";
}

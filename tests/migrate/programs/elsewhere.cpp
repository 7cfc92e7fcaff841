// What other sources define, and what acts when a thread ends, stays. Not linked: it cannot be.
// ONLY: compile
#include <future>

std::future<int> defined_elsewhere();  // NOTE: is defined in a source that was not given NOTE: goes with
extern std::promise<int> promise_elsewhere;  // NOTE: is defined in a source that was not given NOTE: goes with
std::future<int> defined_here() { return std::async([] { return 1; }); }

int main() {
  std::promise<int> late;  // NOTE: goes with
  late.set_value_at_thread_exit(3);  // NOTE: set_value_at_thread_exit has no counterpart
  std::future<int> (*named)(std::launch, int (*&&)()) =  // NOTE: goes with
      &std::async<int (*)()>;  // NOTE: only named
  std::future<int> other = defined_elsewhere();  // NOTE: goes with
  return defined_here().get() + other.get() + (named != nullptr);
}

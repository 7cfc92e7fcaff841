// Tasks that wait otherwise than for a future would hold a worker: they keep their threads.
// OUT: 1 2 3 4 5 6
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>

std::mutex mutex, another;
std::condition_variable changed;
bool is_set = false;
std::latch start(1);

int wait_for_flag() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return is_set; });
  return 1;
}

int main() {
  auto flag = std::async(std::launch::async, wait_for_flag);  // NOTE: waits with std::condition_variable
  auto latch = std::async(std::launch::async, [] {  // NOTE: waits with std::latch
    start.wait();
    return 2;
  });
  auto id = std::async(std::launch::async, [main = std::this_thread::get_id()] {  // NOTE: id of its thread
    return std::this_thread::get_id() != main ? 3 : 0;
  });
  std::promise<int> four;
  auto locked = std::async(std::launch::async, [later = four.get_future()]() mutable {  // NOTE: while it holds a lock
    std::lock_guard lock(another);
    return later.get();
  });
  std::promise<int> five;
  auto unlocked = std::async(std::launch::async, [later = five.get_future()]() mutable {
    { std::lock_guard lock(mutex); }
    return later.get();
  });
  auto guarded = std::async(std::launch::async, [] {
    std::lock_guard lock(mutex);
    return 6;
  });
  {
    std::lock_guard lock(mutex);
    is_set = true;
  }
  changed.notify_all();
  start.count_down();
  std::cout << flag.get() << " " << latch.get() << " " << id.get() << " ";
  four.set_value(4);
  std::cout << locked.get() << " ";
  five.set_value(5);
  std::cout << unlocked.get() << " " << guarded.get() << "\n";
}

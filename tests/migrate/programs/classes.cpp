// Overridden functions, derived classes, function pointers, references.
// OUT: 1 2 3 4 5
#include <future>
#include <iostream>
#include <memory>

struct service {
  virtual ~service() = default;
  virtual std::future<int> ask(int n) = 0;
};

struct parallel : service {
  std::future<int> ask(int n) override {
    return std::async(std::launch::async, [n] { return n; });
  }
};

struct named_future : std::future<int> {
  explicit named_future(std::future<int>&& other) : std::future<int>(std::move(other)) {}
};

class keeper {
 public:
  explicit keeper(std::future<int> held) : held_(std::move(held)) {}
  std::future<int>& held() { return held_; }

 private:
  std::future<int> held_;
};

std::future<int> four() { return std::async([] { return 4; }); }

void settle(std::promise<int>* promise) { promise->set_value(5); }

int main() {
  std::unique_ptr<service> asked = std::make_unique<parallel>();
  named_future two(asked->ask(2));
  keeper three(std::async([] { return 3; }));
  std::future<int> (*pointer)() = &four;
  std::promise<int> five;
  settle(&five);
  std::cout << asked->ask(1).get() << " " << two.get() << " " << three.held().get() << " "
            << pointer().get() << " " << five.get_future().get() << "\n";
}

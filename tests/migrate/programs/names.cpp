// However the names are made visible.
// OUT: 1 2 3 4 5 6 7 8
#include <future>
#include <iostream>
#include <string>

namespace declared {
using std::async;
using std::future;
using std::launch, std::promise;

future<int> one() { return async(launch::async, [](std::string text) { return (int)text.size(); }, std::string("1")); }
promise<int> two;
}  // namespace declared

namespace mixed {
using std::future;

future<int> three() { return std::async([] { return 3; }); }
future<int> four() { return std::async(std::launch::deferred, [] { return 4; }); }  // NOTE: goes with NOTE: deferred
}  // namespace mixed

namespace directive {
using namespace std;
shared_future<int> five = async([] { return 5; }).share();
}  // namespace directive

namespace renamed {
namespace s = std;
s::future<int> six() { return s::async([] { return 6; }); }
}  // namespace renamed

namespace aliased {
typedef std::future<int> result;
template <class T>
using later = std::future<T>;
result seven() { return std::async(std::launch::async, [] { return 7; }); }
later<int> eight() { return ::std::async([] { return 8; }); }
}  // namespace aliased

int main() {
  auto two = declared::two.get_future();
  declared::two.set_value(2);
  declared::future<int> one = declared::one();
  std::cout << one.get() << " " << two.get() << " " << mixed::three().get() << " "
            << mixed::four().get() << " " << directive::five.get() << " " << renamed::six().get() << " "
            << aliased::seven().get() << " " << aliased::eight().get() << "\n";
}

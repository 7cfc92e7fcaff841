// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../conformance/under_test.hpp"
#include "service.hpp"

// The host side of the Lambda dispatchers against a service over real sockets.

namespace {

using namespace std::chrono_literals;
using cppless::error_kind;

int square(int x) { return x * x; }
std::string echo(std::string text) { return text; }
int thrower(int x) { throw std::out_of_range("no element " + std::to_string(x)); }

std::size_t length_of(cppless::shared_value<std::string> text) { return text->size(); }

enum class way { http2, http1 };

cppless::instance connect(way how, cppless::aws_lambda_options options) {
  return how == way::http2
             ? cppless::aws_lambda_nghttp2_dispatcher(std::move(options)).create_instance()
             : cppless::aws_lambda_beast_dispatcher(std::move(options)).create_instance();
}

cppless::instance connect(way how, const test::service& to) {
  return connect(how, to.client_options());
}

test::http_server::options tls() {
  test::http_server::options options;
  options.tls = test::make_certificate();
  return options;
}

// Dispatches `count` squares and checks that each comes back, once and right. Returns how many
// attempts the tasks took in all.
unsigned check_squares(cppless::instance& on, int count) {
  std::vector<int> results(static_cast<std::size_t>(count), -1);
  std::vector<unsigned> seen(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; ++i) {
    cppless::dispatch<cppless::lambda::config<cppless::lambda::with_attempts<20>>>(
        on, cppless::fn<&square>, results[static_cast<std::size_t>(i)], {i});
  }
  unsigned attempts = 0;
  for (int i = 0; i < count; ++i) {
    const auto [id, statistics] = on.wait_one();
    attempts += statistics.attempts;
    ++seen[id];
  }
  for (int i = 0; i < count; ++i) {
    REQUIRE(results[static_cast<std::size_t>(i)] == i * i);
    REQUIRE(seen[static_cast<std::size_t>(i) + 1] == 1);
  }
  CHECK(error_of([&] { on.wait_one(); }).kind == error_kind::rejected);
  return attempts;
}

constexpr way both[] = {way::http2, way::http1};

test::answer broken(test::fault how) {
  test::answer spoilt;
  spoilt.spoilt = how;
  return spoilt;
}

}  // namespace

TEST_CASE("results come back over HTTP/2 and HTTP/1.1, plain and through TLS") {
  for (const bool is_tls : {false, true}) {
    for (const way how : both) {
      CAPTURE(is_tls);
      CAPTURE(static_cast<int>(how));
      test::service service(is_tls ? tls() : test::http_server::options{});
      cppless::instance instance = connect(how, service);
      CHECK(check_squares(instance, 500) == 500);
      CHECK(service.runs() == 500);
    }
  }
}

TEST_CASE("a server that has no HTTP/2 is spoken to in HTTP/1.1 where TLS can tell") {
  auto options = tls();
  options.has_http2 = false;
  test::service service(options);
  cppless::instance instance = connect(way::http2, service);
  check_squares(instance, 50);
}

TEST_CASE("large requests and results pass through the windows of HTTP/2") {
  for (const way how : both) {
    test::service service(tls());
    cppless::instance instance = connect(how, service);
    const std::string text(4'000'000, 'x');
    std::vector<std::string> results(3);
    for (auto& result : results) cppless::dispatch(instance, cppless::fn<&echo>, result, {text});
    cppless::wait(instance, results.size());
    for (const auto& result : results) CHECK(result == text);
  }
}

TEST_CASE("what a task throws arrives with type and text and is not tried again") {
  test::service service;
  cppless::instance instance = connect(way::http2, service);
  int result = 0;
  const auto id = cppless::dispatch(instance, cppless::fn<&thrower>, result, {7});
  const caught error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == error_kind::task_failed);
  CHECK(error.id == id);
  CHECK(error.remote_type == "std::out_of_range");
  CHECK(error.says("no element 7"));
  CHECK(service.runs() == 1);
}

TEST_CASE("captures and arguments beyond Lambda's limit are refused before they are sent") {
  test::service service;
  cppless::instance instance = connect(way::http2, service);
  std::string result;
  cppless::dispatch(instance, cppless::fn<&echo>, result, {std::string(5'000'000, 'x')});
  const caught error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("5000008 bytes"));
  CHECK(error.says("6291556"));
  CHECK(service.requests() == 0);
}

TEST_CASE("the server's limit of streams is kept, with more connections where it is too low") {
  auto options = test::http_server::options{};
  options.most_streams = 10;
  test::service service(options, [](unsigned, const test::request&) {
    test::answer slow = broken(test::fault::none);
    slow.status = 0;
    slow.delay = 5ms;
    return std::optional(slow);
  });
  auto chosen = service.client_options();
  chosen.most_in_flight = 100;
  cppless::instance instance = connect(way::http2, chosen);
  CHECK(check_squares(instance, 1000) == 1000);
  CHECK(service.server().connections() >= 2);
  CHECK(service.server().connections() <= 12);
  CHECK(service.runs() == 1000);
}

TEST_CASE("what the server did not look at is sent again and runs once") {
  for (const auto how : {test::fault::refuse_stream, test::fault::go_away_before}) {
    CAPTURE(static_cast<int>(how));
    test::service service({}, [how](unsigned number, const test::request&) {
      return number % 100 == 50 ? std::optional(broken(how)) : std::nullopt;
    });
    cppless::instance instance = connect(way::http2, service);
    CHECK(check_squares(instance, 2000) == 2000);
    CHECK(service.runs() == 2000);
  }
}

TEST_CASE("no fault of a connection loses or doubles a result") {
  for (const way by : both) {
    for (const auto how :
         {test::fault::close_connection, test::fault::reset_stream, test::fault::go_away_after,
          test::fault::truncate, test::fault::garbage, test::fault::refuse_stream}) {
      CAPTURE(static_cast<int>(by));
      CAPTURE(static_cast<int>(how));
      test::service service({}, [how](unsigned number, const test::request&) {
        return number % 97 == 13 ? std::optional(broken(how)) : std::nullopt;
      });
      auto options = service.client_options();
      options.most_in_flight = 32;
      cppless::instance instance = connect(by, options);
      check_squares(instance, 1000);
    }
  }
}

TEST_CASE("429, 500, 502, 503 and 504 are tried again until they pass") {
  for (const unsigned status : {429U, 500U, 502U, 503U, 504U}) {
    CAPTURE(status);
    test::service service({}, [status](unsigned number, const test::request&) {
      return number % 10 == 3 ? std::optional(test::lambda_error(status, "SomeException", "busy"))
                              : std::nullopt;
    });
    cppless::instance instance = connect(way::http2, service);
    CHECK(check_squares(instance, 300) == 300);
  }
}

TEST_CASE("a storm of 429 slows the sender down instead of being answered with more") {
  std::atomic<int> under_way{0};
  std::atomic<unsigned> throttled{0};
  test::http_server server([&](const test::request& asked, const test::reply& answered) {
    if (under_way >= 20) {
      ++throttled;
      return answered(test::lambda_error(429, "TooManyRequestsException", "Rate exceeded"));
    }
    ++under_way;
    std::thread([&, asked, answered] {
      std::this_thread::sleep_for(2ms);
      --under_way;
      answered(test::run_entry(asked));
    }).detach();
  });
  test::service keys;
  auto options = keys.client_options();
  options.endpoint = server.url();
  {
    cppless::instance instance = connect(way::http2, options);
    check_squares(instance, 2000);
  }
  MESSAGE("throttled " << throttled.load() << " times for 2000 tasks");
  CHECK(throttled < 6000);
  std::this_thread::sleep_for(20ms);
}

TEST_CASE("a service that only throttles ends in overloaded, one that only fails in lost") {
  for (const auto& [status, kind] : {std::pair{500U, error_kind::lost}}) {
    test::service service({}, [status = status](unsigned, const test::request&) {
      return std::optional(test::lambda_error(status, "ServiceException", "it is broken"));
    });
    cppless::instance instance = connect(way::http2, service);
    int result = 0;
    cppless::dispatch(instance, cppless::fn<&square>, result, {1});
    const caught error = error_of([&] { instance.wait_one(); });
    CHECK(error.kind == kind);
    CHECK(error.says("it is broken"));
  }
}

TEST_CASE("what Lambda refuses for good is rejected with its words") {
  for (const auto& [status, type] :
       {std::pair{400U, "InvalidRequestContentException"}, std::pair{403U, "AccessDeniedException"},
        std::pair{404U, "ResourceNotFoundException"},
        std::pair{413U, "RequestTooLargeException"}}) {
    test::service service({}, [status = status, type = type](unsigned, const test::request&) {
      return std::optional(test::lambda_error(status, type, "so it is"));
    });
    cppless::instance instance = connect(way::http2, service);
    int result = 0;
    cppless::dispatch(instance, cppless::fn<&square>, result, {1});
    const caught error = error_of([&] { instance.wait_one(); });
    CHECK(error.kind == error_kind::rejected);
    CHECK(error.says(type));
    CHECK(error.says("so it is"));
    CHECK(service.requests() == 1);
  }
}

TEST_CASE("a function that dies is started again as often as its attempts allow") {
  test::service service({}, [](unsigned number, const test::request&) {
    return number < 2 ? std::optional(test::function_error(
                            "Runtime.ExitError", "RequestId: 1 Error: Runtime exited with error: "
                                                 "signal: segmentation fault"))
                      : std::nullopt;
  });
  cppless::instance instance = connect(way::http2, service);
  int result = 0;
  cppless::dispatch(instance, cppless::fn<&square>, result, {5});
  CHECK(instance.wait_one().statistics.attempts == 3);
  CHECK(result == 25);
}

TEST_CASE("a function that always dies is lost, and its end is told") {
  test::service service({}, [](unsigned, const test::request&) {
    return std::optional(test::function_error(
        "Runtime.ExitError", "RequestId: 1 Error: Runtime exited with error: exit status 3"));
  });
  cppless::instance instance = connect(way::http2, service);
  int result = 0;
  cppless::dispatch(instance, cppless::fn<&square>, result, {5});
  const caught error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == error_kind::lost);
  CHECK(error.says("exit status 3"));
  CHECK(error.says("attempt 3 of 3"));
  CHECK(service.requests() == 3);
}

TEST_CASE("a function that ran out of time or memory fails as on every dispatcher") {
  std::atomic<bool> is_memory{false};
  test::service service({}, [&](unsigned, const test::request&) {
    return std::optional(
        is_memory ? test::function_error("Runtime.ExitError",
                                         "RequestId: 1 Error: Runtime exited with error: signal: "
                                         "killed (out of memory)")
                  : test::function_error("Sandbox.Timedout",
                                         "2026-01-01T00:00:00Z 1 Task timed out after 3.00 seconds"));
  });
  cppless::instance instance = connect(way::http2, service);
  using limited =
      cppless::lambda::config<cppless::lambda::with_timeout<3>, cppless::lambda::with_memory<256>>;
  int result = 0;
  cppless::dispatch<limited>(instance, cppless::fn<&square>, result, {5});
  caught error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == error_kind::timeout);
  CHECK(error.says("longer than its timeout of 3 s"));
  is_memory = true;
  cppless::dispatch<limited>(instance, cppless::fn<&square>, result, {5});
  error = error_of([&] { instance.wait_one(); });
  CHECK(error.kind == error_kind::task_failed);
  CHECK(error.says("256 MB"));
  CHECK(service.requests() == 2);
}

TEST_CASE("an answer that is none of a cppless function ends the task") {
  for (const std::string body : {"", "null", "\"\"", "\"QUJD\"", "\"????\"", "{\"a\": [1",
                                 "\"AgAAAAAAAAAAAAAAAAAAAAAAAAAA\""}) {
    CAPTURE(body);
    test::service service({}, [&](unsigned, const test::request&) {
      test::answer given;
      given.body = body;
      return std::optional(given);
    });
    cppless::instance instance = connect(way::http2, service);
    int result = 0;
    cppless::dispatch(instance, cppless::fn<&square>, result, {1});
    CHECK(error_of([&] { instance.wait_one(); }).kind == error_kind::lost);
  }
}

TEST_CASE("a deadline ends the wait for an answer that never comes") {
  for (const way how : both) {
    test::service service({}, [](unsigned, const test::request&) {
      return std::optional(broken(test::fault::never_answer));
    });
    cppless::instance instance = connect(how, service);
    int result = 0;
    cppless::dispatch<cppless::lambda::config<cppless::lambda::with_deadline<1>>>(
        instance, cppless::fn<&square>, result, {1});
    const caught error = error_of([&] { instance.wait_one(); });
    CHECK(error.kind == error_kind::timeout);
    CHECK(error.says("deadline of 1 s"));
  }
}

TEST_CASE("stragglers are sent once more where that is asked for, and each result is taken once") {
  for (const way how : both) {
    test::service service({}, [](unsigned number, const test::request&) {
      return number < 200 && number % 50 == 30 ? std::optional(broken(test::fault::never_answer))
                                               : std::nullopt;
    });
    auto options = service.client_options();
    options.most_in_flight = 32;
    options.duplicate_stragglers = true;
    cppless::instance instance = connect(how, options);
    CHECK(check_squares(instance, 200) == 204);
    CHECK(service.requests() == 204);
  }
}

TEST_CASE("stragglers are not sent twice unless that is asked for") {
  std::atomic<unsigned> asked_for{0};
  test::http_server server([&](const test::request& asked, const test::reply& answered) {
    if (++asked_for == 40) std::this_thread::sleep_for(300ms);
    answered(test::run_entry(asked));
  });
  test::service elsewhere;
  auto options = elsewhere.client_options();
  options.endpoint = server.url();
  cppless::instance instance = connect(way::http2, options);
  check_squares(instance, 100);
  CHECK(asked_for == 100);
}

TEST_CASE("cancelled tasks end at once, and those beside them go on") {
  for (const way how : both) {
    test::service service({}, [](unsigned number, const test::request&) {
      return number % 2 == 0 ? std::optional(broken(test::fault::never_answer)) : std::nullopt;
    });
    cppless::instance instance = connect(how, service);
    int stuck = 0;
    const auto id = cppless::dispatch(instance, cppless::fn<&square>, stuck, {1});
    while (service.requests() == 0) std::this_thread::yield();
    int other = 0;
    const auto fine = cppless::dispatch(instance, cppless::fn<&square>, other, {3});
    CHECK(instance.wait_one().id == fine);
    CHECK(instance.cancel(id));
    CHECK_FALSE(instance.cancel(id));
    CHECK_FALSE(instance.cancel(fine));
    CHECK(error_of([&] { instance.wait_one(); }).kind == error_kind::cancelled);
    CHECK(other == 9);
  }
}

TEST_CASE("closing an instance ends what is outstanding, whatever state it is in") {
  test::service service({}, [](unsigned number, const test::request&) {
    if (number % 3 == 0) return std::optional(broken(test::fault::never_answer));
    return std::optional(test::lambda_error(429, "TooManyRequestsException", "later"));
  });
  std::vector<cppless::future<int>> futures;
  {
    auto options = service.client_options();
    options.most_in_flight = 10;
    cppless::instance instance = connect(way::http2, options);
    for (int i = 0; i < 100; ++i) {
      futures.push_back(cppless::async(instance, cppless::fn<&square>, i));
    }
    while (service.requests() < 20) std::this_thread::yield();
  }
  for (auto& each : futures) CHECK(error_of([&] { each.get(); }).kind == error_kind::cancelled);
}

TEST_CASE("shared values go along until an environment has them, and again to one that has not") {
  std::atomic<unsigned> carrying{0};
  std::atomic<std::size_t> largest_other{0};
  test::service service({}, [&](unsigned number, const test::request& asked) {
    if (asked.body.front() == '{') {
      ++carrying;
    } else {
      largest_other = std::max(largest_other.load(), asked.body.size());
    }
    test::answer missing;
    missing.body = R"({"missing":"shared values"})";
    return number == 7 ? std::optional(missing) : std::nullopt;
  });
  cppless::instance instance = connect(way::http2, service);
  const auto text = cppless::shared(std::string(50'000, 'x') + std::to_string(::getpid()));
  for (unsigned i = 0; i < 20; ++i) {
    std::size_t length = 0;
    cppless::dispatch(instance, cppless::fn<&length_of>, length, {text});
    CHECK(instance.wait_one().statistics.attempts == 1);
    CHECK(length == text->size());
  }
  CHECK(service.requests() == 21);
  CHECK(carrying == 2);
  CHECK(largest_other < 100);
}

TEST_CASE("shared values that are too large together are refused, with their sizes") {
  test::service service;
  cppless::instance instance = connect(way::http2, service);
  const auto large = cppless::shared(std::string(5'000'000, 'x'));
  auto refused = cppless::async(instance, cppless::fn<&length_of>, large);
  const caught error = error_of([&] { refused.get(); });
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("the shared values among them 5000008"));
  CHECK(error.says("6291556"));
  CHECK(service.requests() == 0);
}

TEST_CASE("futures complete although nobody waits") {
  test::service service;
  cppless::instance instance = connect(way::http2, service);
  std::atomic<int> sum{0};
  std::vector<cppless::future<void>> all;
  // Whoever waits does the sending too, but only as long as it waits.
  CHECK(cppless::async(instance, cppless::fn<&square>, 3).get() == 9);
  for (int i = 1; i <= 10; ++i) {
    all.push_back(cppless::async(instance, cppless::fn<&square>, i).then([&](int x) { sum += x; }));
  }
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (sum != 385 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  CHECK(sum == 385);
}

TEST_CASE("many threads dispatch and wait on one instance") {
  test::service service;
  cppless::instance instance = connect(way::http2, service);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        right += cppless::async(instance, cppless::fn<&square>, i).get() == i * i ? 1 : 0;
      }
    });
  }
  for (auto& each : threads) each.join();
  CHECK(right == 800);
}

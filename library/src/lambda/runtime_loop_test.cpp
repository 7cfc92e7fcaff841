// SPDX-License-Identifier: Apache-2.0
#include "lambda/runtime_loop.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include <cstdlib>
#include <stdexcept>

#include <cppless/detail/wire/binary.hpp>
#include <cppless/json_binary_archive.hpp>

#include "lambda/function_frame.hpp"
#include "lambda/scripted_server.hpp"

namespace {

using namespace cppless::detail;
using namespace std::chrono_literals;
using peer = scripted_server::peer;

constexpr runtime_patience short_patience{200ms, 400ms, 1ms};

/// The task of these tests: returns twice its argument; odd ones are errors, 1,000,000 is a lot.
void twice(source& payload, sink& result) {
  const int number = decode<int>(payload);
  payload.finish();
  if (number == 1) throw std::out_of_range("one \"and\" \xff\n");
  if (number == 3) std::printf("printed\n");
  if (number == 1'000'000) return encode(result, std::string(5'000'000, 'x'));
  encode(result, 2 * number);
}

constexpr cppless::detail::constant_name twice_name{"twice", nullptr};
const entry twice_entry{&twice, nullptr, twice_name, twice_name, {}};

std::string request(int number) { return cppless::json_binary_archive::serialize(number); }

std::string next_answer(const std::string& id, const std::string& body, const char* more = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: " + id +
         "\r\nLambda-Runtime-Deadline-Ms: 1700000000123\r\nLambda-Runtime-Trace-Id: Root=1-2-3\r\n" +
         more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr const char* accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 16\r\n\r\n{\"status\":\"OK\"}\n";

/// What the function posted: path and error type in front, then the body.
std::string take_post(peer& client) {
  const std::string head = client.read_until("\r\n\r\n");
  std::string seen = head.substr(0, head.find(" HTTP/1.1"));
  constexpr std::string_view type = "Error-Type: ", length = "Content-Length: ";
  if (const auto at = head.find(type); at != head.npos) {
    seen += " [" + head.substr(at + type.size(), head.find("\r\n", at) - at - type.size()) + "]";
  }
  const auto size = std::strtoul(head.c_str() + head.find(length) + length.size(), nullptr, 10);
  std::string body;
  while (body.size() < size) {
    const std::string some = client.read_until(head.find("/error") != head.npos ? "}" : "\"");
    if (some.empty()) break;
    body += some;
  }
  client.write(accepted);
  return seen + " " + body;
}

void expect_next(peer& client) {
  CHECK(client.read_until("\r\n\r\n").starts_with(
      "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: 127.0.0.1:"));
}

std::pair<int, int> format_and_cold(const std::string& post) {
  const std::string json = post.substr(post.find('"'));
  json_base64_source in(json);
  const std::byte* const head = in.take(2);
  return {static_cast<int>(head[0]), static_cast<int>(head[1])};
}

int result_of(const std::string& post) {
  const std::string json = post.substr(post.find('"'));
  json_base64_source in(json);
  in.take(function_frame::size);
  return decode<int>(in);
}

/// Serves until the script has ended; what the loop threw at its end.
std::string serve(std::function<bool(peer&, int)> script) {
  scripted_server server(std::move(script));
  const file_descriptor stop(::eventfd(0, EFD_CLOEXEC));
  try {
    runtime_loop(twice_entry, server.address(), short_patience).run(stop.get());
  } catch (const cppless::rejected& reason) {
    return reason.what();
  }
  return "";
}

}  // namespace

TEST_SUITE_BEGIN("runtime loop");

TEST_CASE("requests are served one after the other over one connection") {
  std::string first, second;
  int connections = 0;
  serve([&](peer& client, int number) {
    connections = number + 1;
    expect_next(client);
    client.write(next_answer("id-1", request(21)));
    first = take_post(client);
    expect_next(client);
    client.write(next_answer("id-2", request(4)));
    second = take_post(client);
    return false;
  });
  CHECK(first.starts_with("POST /2018-06-01/runtime/invocation/id-1/response \""));
  CHECK(second.starts_with("POST /2018-06-01/runtime/invocation/id-2/response \""));
  CHECK(format_and_cold(first) == std::pair(2, 1));
  CHECK(format_and_cold(second) == std::pair(2, 0));
  CHECK(result_of(first) == 42);
  CHECK(result_of(second) == 8);
  CHECK(connections == 1);
}

TEST_CASE("a task sees its request's id, deadline and trace") {
  serve([&](peer& client, int) {
    expect_next(client);
    client.write(next_answer("id-1", request(2)));
    take_post(client);
    return false;
  });
  CHECK(std::string(std::getenv("CPPLESS_REQUEST_ID")) == "id-1");
  CHECK(std::string(std::getenv("CPPLESS_DEADLINE_MS")) == "1700000000123");
  CHECK(std::string(std::getenv("_X_AMZN_TRACE_ID")) == "Root=1-2-3");
}

TEST_CASE("what a task throws is reported with its type, as valid JSON") {
  std::string post;
  serve([&](peer& client, int) {
    expect_next(client);
    client.write(next_answer("id-1", request(1)));
    post = take_post(client);
    return false;
  });
  CHECK(post == "POST /2018-06-01/runtime/invocation/id-1/error [std::out_of_range] "
                "{\"errorMessage\":\"one \\\"and\\\" \xef\xbf\xbd\\u000a\","
                "\"errorType\":\"std::out_of_range\",\"stackTrace\":[]}");
}

TEST_CASE("a request that cannot be decoded is an error answer, and the next one is served") {
  std::string broken, good;
  serve([&](peer& client, int) {
    expect_next(client);
    client.write(next_answer("id-1", "{\"not\": \"ours\"}"));
    broken = take_post(client);
    expect_next(client);
    client.write(next_answer("id-2", request(5)));
    good = take_post(client);
    return false;
  });
  CHECK(broken.starts_with("POST /2018-06-01/runtime/invocation/id-1/error [cppless::rejected] "));
  CHECK(result_of(good) == 10);
}

TEST_CASE("a result that is too large is an error with its size and the limit") {
  std::string post;
  serve([&](peer& client, int) {
    expect_next(client);
    client.write(next_answer("id-1", request(1'000'000)));
    post = take_post(client);
    return false;
  });
  CHECK(post.find("[Function.ResponseSizeTooLarge]") != post.npos);
  CHECK(post.find("5000008 bytes takes 6666714 bytes on its way, the limit is 6291556") != post.npos);
}

TEST_CASE("a request that is too large is refused by name and its size is not read") {
  std::string post;
  serve([&](peer& client, int number) {
    if (number == 0) {
      expect_next(client);
      client.write("HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: big\r\n"
                   "Content-Length: 6291557\r\n\r\n\"");
      return true;
    }
    post = take_post(client);
    return false;
  });
  CHECK(post.find("invocation/big/error [Runtime.BrokenRequest]") != post.npos);
  CHECK(post.find("larger than 6291556 bytes") != post.npos);
}

TEST_CASE("a request that is cut off, or stops coming, is reported to whoever sent it") {
  for (const bool closes : {true, false}) {
    std::string post;
    serve([&](peer& client, int number) {
      if (number == 0) {
        expect_next(client);
        client.write("HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: half\r\n"
                     "Content-Length: 100\r\n\r\n\"AAAA");
        if (!closes) client.wait_for_end();
        return true;
      }
      post = take_post(client);
      return false;
    });
    CHECK(post.find("invocation/half/error [Runtime.BrokenRequest]") != post.npos);
    CHECK(post.find(closes ? "closed before its end" : "silent for too long") != post.npos);
  }
}

TEST_CASE("an answer that comes drop by drop ends") {
  const std::string why = serve([&](peer& client, int) {
    expect_next(client);
    for (int drop = 0; drop < 12; ++drop) {
      client.write("H");
      if (drop == 0) client.write("TTP/1.1 200 OK\r\nX: ");
      std::this_thread::sleep_for(100ms);
    }
    return false;
  });
  CHECK(why.find("silent for too long") != why.npos);
}

TEST_CASE("a chunked request is understood") {
  std::string post;
  serve([&](peer& client, int) {
    expect_next(client);
    const std::string body = request(50);
    client.write("HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: c\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n3\r\n" + body.substr(0, 3) + "\r\n");
    std::this_thread::sleep_for(5ms);
    client.write("7\r\n" + body.substr(3) + "\r\n0\r\n\r\n");
    post = take_post(client);
    return false;
  });
  CHECK(result_of(post) == 100);
}

TEST_CASE("a connection that is closed is made again") {
  std::string post;
  serve([&](peer& client, int number) {
    if (number == 2) {
      post = take_post(client);
      return false;
    }
    expect_next(client);
    if (number == 0) return true;  // closed while it waited for work
    client.write(next_answer("id-1", request(2), "Connection: close\r\n"));
    return true;
  });
  CHECK(result_of(post) == 4);
}

TEST_CASE("malformed answers end the loop with a reason") {
  const std::string long_header = "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n";
  const std::pair<std::string, std::string> cases[] = {
      {"SSH-2.0-nobody\r\n\r\n", "malformed answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "malformed answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "malformed answer"},
      {"HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: ../x\r\nContent-Length: 0\r\n\r\n",
       "its request id has 4 characters"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed answer"},
      {long_header, "larger than 65536 bytes"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\"\"", "without a request id"},
      {"HTTP/1.1 500 Sorry\r\nContent-Length: 4\r\n\r\nover", "status 500"},
      {"HTTP/1.1 200 OK\r\nX", "closed before its end"},
  };
  for (const auto& [answer, reason] : cases) {
    CAPTURE(answer.substr(0, 60));
    const std::string why = serve([&, answer = &answer](peer& client, int) {
      expect_next(client);
      client.write(*answer);
      return false;
    });
    CAPTURE(why);
    CHECK(why.find(reason) != why.npos);
  }
}

TEST_CASE("a Runtime API that only hangs up is given up") {
  CHECK(serve([](peer&, int) { return true; }).find("closed the connection 4 times") !=
        std::string::npos);
}

TEST_CASE("an answer that is refused does not end the function") {
  std::string second;
  serve([&](peer& client, int) {
    expect_next(client);
    client.write(next_answer("id-1", request(2)));
    client.read_until("\r\n\r\n");
    client.read_until("\"");
    client.read_until("\"");
    client.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\nlate");
    expect_next(client);
    client.write(next_answer("id-2", request(3)));
    second = take_post(client);
    return false;
  });
  CHECK(result_of(second) == 6);
}

TEST_CASE("a request to stop ends the wait for work") {
  const file_descriptor stop(::eventfd(0, EFD_CLOEXEC));
  scripted_server server([&](peer& client, int) {
    expect_next(client);
    const std::uint64_t one = 1;
    CHECK(::write(stop.get(), &one, sizeof one) == sizeof one);
    client.wait_for_end();
    return false;
  });
  runtime_loop(twice_entry, server.address(), short_patience).run(stop.get());
}

TEST_CASE("addresses are numeric, with a port") {
  CHECK_NOTHROW(runtime_connection("localhost:1"));
  CHECK_NOTHROW(runtime_connection("[::1]:65535"));
  for (const char* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:0x1",
                            "somewhere:80", ":80", "::1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(runtime_connection{wrong}, cppless::rejected);
  }
}

TEST_SUITE_END();

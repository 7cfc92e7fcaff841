// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "../conformance/under_test.hpp"
#include "service.hpp"

// Ways to the service, and credentials.

namespace {

using namespace std::chrono_literals;
using cppless::error_kind;

int twice(int x) { return 2 * x; }

caught outcome(const cppless::aws_lambda_options& options, bool is_http2 = true) {
  return error_of([&] {
    cppless::instance instance =
        is_http2 ? cppless::aws_lambda_nghttp2_dispatcher(options).create_instance()
                 : cppless::aws_lambda_beast_dispatcher(options).create_instance();
    const int result = cppless::async(instance, cppless::fn<&twice>, 21).get();
    CHECK(result == 42);
  });
}

test::http_server::options tls(const std::string& name = "127.0.0.1") {
  test::http_server::options options;
  options.tls = test::make_certificate(name);
  return options;
}

// A proxy for CONNECT, one connection at a time, each way in a thread.
class proxy {
 public:
  proxy() : acceptor_(loop_, {boost::asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { run(); });
  }
  ~proxy() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    thread_.join();
  }
  std::string authority() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  std::string asked;
  bool refuses = false;

 private:
  using tcp = boost::asio::ip::tcp;

  static void relay(tcp::socket& from, tcp::socket& to) {
    char bytes[4096];
    boost::system::error_code error;
    for (;;) {
      const std::size_t n = from.read_some(boost::asio::buffer(bytes), error);
      if (error) break;
      boost::asio::write(to, boost::asio::buffer(bytes, n), error);
    }
    to.shutdown(tcp::socket::shutdown_both, error);
  }

  void run() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket client(loop_);
      acceptor_.accept(client, error);
      if (error) return;
      std::string head;
      boost::asio::read_until(client, boost::asio::dynamic_buffer(head), "\r\n\r\n", error);
      asked = head;
      if (refuses) {
        boost::asio::write(client, boost::asio::buffer(std::string(
                                       "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")));
        continue;
      }
      const std::string target = head.substr(8, head.find(' ', 8) - 8);
      const std::size_t colon = target.rfind(':');
      tcp::socket server(loop_);
      server.connect({boost::asio::ip::make_address(target.substr(0, colon)),
                      static_cast<std::uint16_t>(std::stoi(target.substr(colon + 1)))});
      boost::asio::write(client, boost::asio::buffer(std::string("HTTP/1.1 200 OK\r\n\r\n")));
      std::thread there([&] { relay(client, server); });
      relay(server, client);
      there.join();
    }
  }

  boost::asio::io_context loop_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a certificate of an unknown authority is not accepted, and how to trust it is told") {
  test::service service(tls());
  auto options = service.client_options();
  options.ca_bundle.clear();
  const caught error = outcome(options);
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("self-signed certificate"));
  CHECK(error.says("AWS_CA_BUNDLE"));
  CHECK(service.requests() == 0);
}

TEST_CASE("a certificate for another name is not accepted") {
  test::service service(tls("elsewhere.example"));
  for (const bool is_http2 : {true, false}) {
    const caught error = outcome(service.client_options(), is_http2);
    CHECK(error.kind == error_kind::rejected);
    CHECK(error.says("IP address mismatch"));
  }
  CHECK(service.requests() == 0);
}

TEST_CASE("AWS_CA_BUNDLE is what is trusted, and one that cannot be read is an error") {
  test::service service(tls());
  auto options = service.client_options();
  const test::environment bundle({{"AWS_CA_BUNDLE", options.ca_bundle}});
  options.ca_bundle.clear();
  CHECK_FALSE(outcome(options).any);
  const test::environment missing({{"AWS_CA_BUNDLE", "/nowhere/ca.pem"}});
  const caught error = outcome(options);
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("/nowhere/ca.pem"));
}

TEST_CASE("HTTPS_PROXY is gone through, with its password, and NO_PROXY around it") {
  test::service service(tls());
  proxy proxy;
  const test::environment through({{"HTTPS_PROXY", "http://me:secret@" + proxy.authority()}});
  CHECK_FALSE(outcome(service.client_options()).any);
  CHECK(proxy.asked.find("CONNECT 127.0.0.1:" + std::to_string(service.server().port()) +
                         " HTTP/1.1\r\n") == 0);
  CHECK(proxy.asked.find("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") != std::string::npos);
  proxy.asked.clear();
  const test::environment around({{"NO_PROXY", "example.com,127.0.0.1"}});
  CHECK_FALSE(outcome(service.client_options()).any);
  CHECK(proxy.asked.empty());
}

TEST_CASE("a proxy that refuses is named") {
  test::service service(tls());
  proxy proxy;
  proxy.refuses = true;
  const test::environment through({{"HTTPS_PROXY", proxy.authority()}});
  const caught error = outcome(service.client_options());
  CHECK(error.kind == error_kind::lost);
  CHECK(error.says("407 Proxy Authentication Required"));
}

TEST_CASE("without a server tasks are lost, and the reason is told") {
  std::uint16_t port = 0;
  {
    const test::http_server server([](const test::request&, const test::reply&) {});
    port = server.port();
  }
  test::service keys;
  for (const bool is_http2 : {true, false}) {
    auto options = keys.client_options();
    options.endpoint = "http://127.0.0.1:" + std::to_string(port);
    const caught error = outcome(options, is_http2);
    CHECK(error.kind == error_kind::lost);
    CHECK(error.says("Connection refused"));
    CHECK(error.says(options.endpoint));
  }
}

TEST_CASE("a server that is started again is found again") {
  test::service keys;
  auto options = keys.client_options();
  const auto answers = [](const test::request& asked, const test::reply& answered) {
    answered(test::run_entry(asked));
  };
  auto server = std::make_unique<test::http_server>(answers);
  test::http_server::options same_port;
  same_port.port = server->port();
  options.endpoint = server->url();
  cppless::instance instance = cppless::aws_dispatcher(options).create_instance();
  CHECK(cppless::async(instance, cppless::fn<&twice>, 1).get() == 2);
  server.reset();
  std::vector<cppless::future<int>> futures;
  for (int i = 0; i < 100; ++i) {
    futures.push_back(cppless::async(instance, cppless::fn<&twice>, i));
  }
  std::this_thread::sleep_for(300ms);
  server = std::make_unique<test::http_server>(same_port, answers);
  for (int i = 0; i < 100; ++i) CHECK(futures[static_cast<std::size_t>(i)].get() == 2 * i);
}

TEST_CASE("a clock that is wrong is set right by what the service says the time is") {
  for (const int skew : {3600, -7200}) {
    test::service service;
    service.skew_seconds = skew;
    cppless::instance instance =
        cppless::aws_dispatcher(service.client_options()).create_instance();
    for (int i = 0; i < 50; ++i) {
      CHECK(cppless::async(instance, cppless::fn<&twice>, i).get() == 2 * i);
    }
    CHECK(service.requests() == 51);
  }
}

TEST_CASE("wrong credentials are rejected at once") {
  test::service service;
  const test::environment wrong({{"AWS_SECRET_ACCESS_KEY", "not this one"}});
  const caught error = outcome(service.client_options());
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("InvalidSignatureException"));
  CHECK(service.requests() == 1);
}

TEST_CASE("a session token is sent and signed") {
  test::service service;
  service.session_token = "a/token+of==";
  const test::environment token({{"AWS_SESSION_TOKEN", service.session_token}});
  CHECK_FALSE(outcome(service.client_options()).any);
}

TEST_CASE("without region, without credentials: what to do is told") {
  const test::environment nothing({{"AWS_REGION", ""},
                                   {"AWS_DEFAULT_REGION", ""},
                                   {"AWS_ACCESS_KEY_ID", ""},
                                   {"AWS_SECRET_ACCESS_KEY", ""},
                                   {"AWS_ENDPOINT_URL", ""},
                                   {"AWS_ENDPOINT_URL_LAMBDA", ""},
                                   {"AWS_EC2_METADATA_DISABLED", "true"},
                                   {"HOME", "/nowhere"}});
  caught error = error_of([] { cppless::aws_dispatcher::from_env(); });
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("AWS_REGION"));
  CHECK(error.says("cppless platform start"));
  const test::environment region({{"AWS_REGION", "us-west-2"}});
  CHECK(cppless::aws_dispatcher::from_env().options().endpoint ==
        "https://lambda.us-west-2.amazonaws.com:443/");
  error = error_of([] { cppless::aws_dispatcher::from_env().create_instance(); });
  CHECK(error.kind == error_kind::rejected);
  CHECK(error.says("AWS_ACCESS_KEY_ID"));
  CHECK(error.says("aws configure"));
  const test::environment wrong({{"AWS_ENDPOINT_URL", "localhost:1234"}});
  error = error_of([] { cppless::aws_dispatcher::from_env(); });
  CHECK(error.says("'localhost:1234' is not a URL"));
}

TEST_CASE("credentials come from a profile, a container's endpoint and an instance's metadata") {
  test::service service;
  service.session_token = "temporary";
  const std::string json =
      R"({"Code": "Success", "AccessKeyId": "AKIDTEST", "SecretAccessKey": ")" +
      std::string(test::secret_access_key) +
      R"(", "Token": "temporary", "Expiration": "2099-01-02T03:04:05Z"})";
  std::atomic<unsigned> asked_metadata{0};
  const test::http_server endpoint([&](const test::request& asked, const test::reply& answered) {
    test::answer given;
    given.status = 404;
    const auto has = [&](const char* name, const char* value) {
      const auto found = asked.headers.find(name);
      return found != asked.headers.end() && found->second == value;
    };
    if (asked.path == "/container" && has("authorization", "let me in")) {
      given.status = 200;
      given.body = json;
    } else if (asked.path == "/latest/api/token" && asked.method == "PUT") {
      ++asked_metadata;
      given.status = 200;
      given.body = "proof";
    } else if (has("x-aws-ec2-metadata-token", "proof")) {
      given.status = 200;
      given.body = asked.path.ends_with('/') ? "role" : json;
    }
    answered(given);
  });
  const test::environment none({{"AWS_ACCESS_KEY_ID", ""}, {"AWS_SECRET_ACCESS_KEY", ""},
                                {"HOME", "/nowhere"}});
  {
    const test::environment container(
        {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/container"},
         {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me in"}});
    CHECK_FALSE(outcome(service.client_options()).any);
  }
  {
    const test::environment metadata({{"AWS_EC2_METADATA_DISABLED", ""},
                                      {"AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.url()}});
    CHECK_FALSE(outcome(service.client_options()).any);
    CHECK(asked_metadata == 1);
    const test::environment disabled({{"AWS_EC2_METADATA_DISABLED", "true"}});
    CHECK(outcome(service.client_options()).says("no AWS credentials"));
    CHECK(asked_metadata == 1);
  }
  {
    const char* const path = "/tmp/cppless-test-credentials";
    std::ofstream(path) << "[default]\naws_access_key_id = no\n\n[ci]\naws_access_key_id=AKIDTEST\n"
                        << "aws_secret_access_key = " << test::secret_access_key
                        << "\n# a comment\naws_session_token = temporary\n";
    const test::environment profile(
        {{"AWS_SHARED_CREDENTIALS_FILE", path}, {"AWS_PROFILE", "ci"}});
    CHECK_FALSE(outcome(service.client_options()).any);
    auto options = service.client_options();
    options.profile = "unknown";
    CHECK(outcome(options).says("no AWS profile 'unknown'"));
    std::remove(path);
  }
}

TEST_CASE("credentials are renewed before they expire") {
  std::atomic<unsigned> handed_out{0};
  const test::http_server endpoint([&](const test::request&, const test::reply& answered) {
    char when[32];
    const std::time_t at = std::time(nullptr) + (handed_out++ == 0 ? 11 : 3600);
    std::tm parts{};
    ::gmtime_r(&at, &parts);
    std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    test::answer given;
    given.body = R"({"AccessKeyId": "AKIDTEST", "SecretAccessKey": ")" +
                 std::string(test::secret_access_key) + R"(", "Expiration": ")" + when + "\"}";
    answered(given);
  });
  test::service service;
  const test::environment container(
      {{"AWS_ACCESS_KEY_ID", ""},
       {"AWS_SECRET_ACCESS_KEY", ""},
       {"HOME", "/nowhere"},
       {"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/container"}});
  cppless::instance instance = cppless::aws_dispatcher(service.client_options()).create_instance();
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (handed_out < 2 && std::chrono::steady_clock::now() < until) {
    CHECK(cppless::async(instance, cppless::fn<&twice>, 4).get() == 8);
    std::this_thread::sleep_for(100ms);
  }
  CHECK(handed_out == 2);
}

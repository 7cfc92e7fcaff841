// SPDX-License-Identifier: Apache-2.0
// The fault sweep of the Lambda dispatchers: many invocations for each thing that can go wrong
// between host and service, over HTTP/2 and HTTP/1.1, plain and through TLS. Every task must end
// exactly once with the right result or the right error, and run no more often than it must.
//
//   lambda_sweep [--invocations N] [--only FAULT]
//
// What goes wrong inside functions needs real ones: tests/faults/cloud.py.
#include <atomic>
#include <charconv>
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

#include "service.hpp"

using namespace std::chrono_literals;
using cppless::error_kind;
namespace lambda = cppless::lambda;

namespace {

int square(int x) { return x * x; }

using config = lambda::config<lambda::with_attempts<30>>;
using short_config = lambda::config<lambda::with_attempts<30>, lambda::with_deadline<2>>;

struct broken_promise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw broken_promise(what);
}

/// How the sweep of one fault went.
struct tally {
  unsigned right = 0;
  std::map<error_kind, unsigned> errors;
  std::string last_error;
  unsigned attempts = 0;
  unsigned runs = 0;      ///< In the service: more than `right` where an answer was lost.
  unsigned requests = 0;  ///< That the service read.
};

enum class way { http2, http1 };

cppless::instance connect(way by, cppless::aws_lambda_options options) {
  return by == way::http2 ? cppless::aws_lambda_nghttp2_dispatcher(std::move(options)).create_instance()
                          : cppless::aws_lambda_beast_dispatcher(std::move(options)).create_instance();
}

/// Dispatches `count` tasks, at most 1,000 at a time, and takes all their ends.
template <class Config>
tally run(cppless::instance& on, int count) {
  tally seen;
  std::vector<int> results(static_cast<std::size_t>(count), -1);
  std::vector<std::uint8_t> ends(static_cast<std::size_t>(count) + 1);
  const auto take_one = [&] {
    cppless::task_id id = 0;
    try {
      const auto [ended, statistics] = on.wait_one();
      id = ended;
      seen.attempts += statistics.attempts;
      const auto number = static_cast<int>(id) - 1;
      require(results[static_cast<std::size_t>(number)] == number % 1000 * (number % 1000),
              "task " + std::to_string(id) + " has the wrong result");
      ++seen.right;
    } catch (const cppless::error& error) {
      id = error.id();
      ++seen.errors[error.kind()];
      seen.last_error = error.what();
    }
    require(id >= 1 && id <= static_cast<cppless::task_id>(count), "an end of no task: " + std::to_string(id));
    require(++ends[id] == 1, "task " + std::to_string(id) + " ended twice");
  };
  constexpr int most_outstanding = 1000;
  for (int i = 0; i < count; ++i) {
    if (i >= most_outstanding) take_one();
    cppless::dispatch<Config>(on, cppless::fn<&square>, results[static_cast<std::size_t>(i)], {i % 1000});
  }
  for (int i = 0; i < std::min(count, most_outstanding); ++i) take_one();
  return seen;
}

struct sweep {
  int count;
  way by;
  bool is_tls;

  test::http_server::options server_options() const {
    test::http_server::options options;
    if (is_tls) options.tls = test::make_certificate();
    return options;
  }

  template <class Config = config>
  tally through(test::service& service, const std::function<void()>& meanwhile = {}) const {
    auto options = service.client_options();
    options.most_in_flight = 64;
    cppless::instance instance = connect(by, options);
    std::thread other([&] { if (meanwhile) meanwhile(); });
    tally seen;
    try {
      seen = run<Config>(instance, count);
    } catch (...) {
      other.join();
      throw;
    }
    other.join();
    seen.runs = service.runs();
    seen.requests = service.requests();
    return seen;
  }

  /// With one answer in `each` spoilt.
  template <class Config = config>
  tally spoilt(unsigned each, const test::answer& how) const {
    test::service service(server_options(), [=](unsigned number, const test::request&) {
      return number % each == each / 2 ? std::optional(how) : std::nullopt;
    });
    return through<Config>(service);
  }

  void require_all_right(const tally& seen) const {
    std::string errors;
    for (const auto& [kind, number] : seen.errors) errors += ", " + std::to_string(number) + " " + std::string(cppless::to_string(kind));
    require(seen.right == static_cast<unsigned>(count), "only " + std::to_string(seen.right) + " right" + errors + "; last: " + seen.last_error);
  }
  void require_all_ran_once(const tally& seen) const {
    require_all_right(seen);
    require(seen.runs == static_cast<unsigned>(count), "a task ran twice that the service had refused");
  }
};

test::answer broken(test::fault how) {
  test::answer made;
  made.spoilt = how;
  return made;
}

/// The service runs the task, whose answer comes late.
test::answer late(std::chrono::milliseconds delay) {
  test::answer made;
  made.status = 0;
  made.delay = delay;
  return made;
}

tally expired_credentials(const sweep& in) {
  std::atomic<unsigned> issued{0};
  const auto token = [&] { return "token" + std::to_string(issued.load()); };
  const test::http_server endpoint([&](const test::request&, const test::reply& answered) {
    test::answer given;
    given.body = R"({"AccessKeyId": "AKIDTEST", "SecretAccessKey": ")" + std::string(test::secret_access_key) +
                 R"(", "Token": ")" + token() + R"(", "Expiration": "2099-01-02T03:04:05Z"})";
    answered(given);
  });
  test::service* self = nullptr;
  // Five times in a sweep what was handed out is valid no longer.
  const unsigned each = static_cast<unsigned>(in.count) / 5;
  test::service service(in.server_options(), [&](unsigned number, const test::request&) {
    if (number % each == each / 2) {
      self->expired_tokens.push_back(token());
      ++issued;
      self->session_token = token();
    }
    return std::optional<test::answer>();
  });
  self = &service;
  service.session_token = token();
  const test::environment container({{"AWS_ACCESS_KEY_ID", ""},
                                     {"AWS_SECRET_ACCESS_KEY", ""},
                                     {"HOME", "/nowhere"},
                                     {"AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/x"}});
  const tally seen = in.through(service);
  in.require_all_ran_once(seen);
  return seen;
}

tally skewed_clock(const sweep& in) {
  test::service* self = nullptr;
  const unsigned each = static_cast<unsigned>(in.count) / 4;
  test::service service(in.server_options(), [&](unsigned number, const test::request&) {
    if (number % each == each / 2) self->skew_seconds = self->skew_seconds == 0 ? 3600 : 0;
    return std::optional<test::answer>();
  });
  self = &service;
  const tally seen = in.through(service);
  in.require_all_ran_once(seen);
  return seen;
}

/// The server is gone for a while, several times.
tally restarts(const sweep& in) {
  std::atomic<unsigned> runs{0};
  const auto answers = [&](const test::request& asked, const test::reply& answered) {
    ++runs;
    answered(test::run_entry(asked));
  };
  test::http_server::options options = in.server_options();
  test::service keys(options);
  auto server = std::make_unique<test::http_server>(options, answers);
  options.port = server->port();
  auto to = keys.client_options();
  to.endpoint = server->url();
  to.most_in_flight = 64;
  cppless::instance instance = connect(in.by, to);
  std::atomic<bool> is_over{false};
  std::thread restarter([&] {
    for (int i = 0; i < 5 && !is_over; ++i) {
      std::this_thread::sleep_for(60ms);
      server.reset();
      std::this_thread::sleep_for(30ms);
      server = std::make_unique<test::http_server>(options, answers);
    }
  });
  tally seen;
  try {
    seen = run<config>(instance, in.count);
  } catch (...) {
    is_over = true;
    restarter.join();
    throw;
  }
  is_over = true;
  restarter.join();
  seen.runs = runs;
  in.require_all_right(seen);
  return seen;
}

/// Behind the address is suddenly a server that cannot show who it is.
tally wrong_certificate(const sweep& in) {
  const auto answers = [](const test::request& asked, const test::reply& answered) {
    answered(test::run_entry(asked));
  };
  test::http_server::options options = in.server_options();
  test::service keys(options);
  test::http_server::options other = in.server_options();
  const test::http_server impostor(other, answers);
  auto to = keys.client_options();
  to.endpoint = impostor.url();
  cppless::instance instance = connect(in.by, to);
  const tally seen = run<config>(instance, in.count);
  require(seen.right == 0 && seen.errors.size() == 1 && seen.errors.contains(error_kind::rejected),
          "what is sent to a server without a good certificate must be rejected");
  return seen;
}

tally storm(const sweep& in) {
  // Of each 2,000 requests 600 in a row are throttled.
  test::service service(in.server_options(), [](unsigned number, const test::request&) {
    return number % 2000 < 600
               ? std::optional(test::lambda_error(429, "TooManyRequestsException", "Rate exceeded"))
               : std::nullopt;
  });
  const tally seen = in.through(service);
  in.require_all_ran_once(seen);
  return seen;
}

tally failing_service(const sweep& in) {
  test::service service(in.server_options(), [](unsigned number, const test::request&) {
    constexpr unsigned statuses[] = {500, 502, 503, 504};
    return number % 20 == 3 ? std::optional(test::lambda_error(statuses[number / 20 % 4], "ServiceException", "x"))
                            : std::nullopt;
  });
  const tally seen = in.through(service);
  in.require_all_ran_once(seen);
  return seen;
}

tally malformed(const sweep& in) {
  static constexpr const char* bodies[] = {"", "null", "\"\"", "\"QUJD\"", "\"????\"", "{\"a\": [1"};
  test::service service(in.server_options(), [](unsigned number, const test::request&) {
    test::answer given;
    given.body = bodies[number / 50 % 6];
    return number % 50 == 7 ? std::optional(given) : std::nullopt;
  });
  const tally seen = in.through(service);
  const auto spoilt = static_cast<unsigned>(in.count) - seen.right;
  require(seen.runs == seen.right, "a task ran twice");
  require(spoilt > 0 && seen.errors.size() == 1 && seen.errors.at(error_kind::lost) == spoilt,
          "an answer that is none must be lost");
  return seen;
}

tally silence(const sweep& in) {
  const tally seen = in.spoilt<short_config>(500, broken(test::fault::never_answer));
  const auto unanswered = static_cast<unsigned>(in.count) - seen.right;
  require(unanswered > 0 && seen.errors.size() == 1 && seen.errors.at(error_kind::timeout) == unanswered,
          "a task without an answer must end with its deadline");
  return seen;
}

struct fault_case {
  const char* name;
  std::function<tally(const sweep&)> action;
  bool is_http2_only = false;
};

fault_case refused(const char* name, test::fault how) {
  return {name, [how](const sweep& in) {
            const tally seen = in.spoilt(100, broken(how));
            in.require_all_ran_once(seen);
            return seen;
          }, true};
}

fault_case interrupted(const char* name, test::fault how, bool is_http2_only = false) {
  return {name, [how](const sweep& in) {
            // With a connection of HTTP/2 end all 64 in flight, and the dispatcher tries again only as
            // long as most of what it sends succeeds.
            const tally seen = in.spoilt(in.by == way::http2 ? 700 : 100, broken(how));
            in.require_all_right(seen);
            return seen;
          }, is_http2_only};
}

std::vector<fault_case> all_cases() {
  return {
      {"none", [](const sweep& in) {
         const tally seen = in.spoilt(1'000'000'000, {});
         in.require_all_ran_once(seen);
         require(seen.attempts == seen.right, "a task was tried twice for nothing");
         return seen;
       }},
      interrupted("connection closed", test::fault::close_connection),
      interrupted("stream reset", test::fault::reset_stream, true),
      refused("stream refused", test::fault::refuse_stream),
      refused("GOAWAY before", test::fault::go_away_before),
      refused("GOAWAY in mid-flight", test::fault::go_away_after),
      interrupted("truncated answer", test::fault::truncate),
      interrupted("garbage", test::fault::garbage),
      {"slow answers", [](const sweep& in) {
         const tally seen = in.spoilt(200, late(40ms));
         in.require_all_ran_once(seen);
         return seen;
       }},
      {"malformed answers", malformed},
      {"no answer", silence},
      {"storms of 429", storm},
      {"500, 502, 503, 504", failing_service},
      {"server restarted", restarts},
      {"wrong certificate", wrong_certificate},
      {"expired credentials", expired_credentials},
      {"clock skew", skewed_clock},
  };
}

int number_of(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : 0;
}

bool sweep_one(const fault_case& each, const sweep& in) {
  const auto start = std::chrono::steady_clock::now();
  std::cout << each.name << " (" << (in.by == way::http2 ? "HTTP/2" : "HTTP/1.1") << (in.is_tls ? ", TLS" : "")
            << "): " << std::flush;
  try {
    const tally seen = each.action(in);
    std::cout << seen.right << " right";
    for (const auto& [kind, number] : seen.errors) {
      std::cout << ", " << number << ' ' << cppless::to_string(kind);
    }
    std::cout << "; " << seen.attempts << " attempts, " << seen.runs << " runs, "
              << std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count()
              << " ms" << std::endl;
    return true;
  } catch (const std::exception& wrong) {
    std::cout << "FAILED: " << wrong.what() << std::endl;
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000;
  std::string only;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--invocations" && number_of(value) >= 200) {
      count = number_of(value);
    } else if (word == "--only" && !value.empty()) {
      only = value;
    } else {
      std::cerr << "usage: lambda_sweep [--invocations N] [--only FAULT]   (N at least 200)\n";
      return 2;
    }
  }
  unsigned passed = 0, failed = 0;
  for (const fault_case& each : all_cases()) {
    if (!only.empty() && only != each.name) continue;
    for (const way by : {way::http2, way::http1}) {
      if (by == way::http1 && each.is_http2_only) continue;
      const bool is_tls = (by == way::http2) == (passed % 2 == 0) || std::string_view(each.name) == "wrong certificate";
      ++(sweep_one(each, {count, by, is_tls}) ? passed : failed);
    }
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 && passed > 0 ? 0 : 1;
}

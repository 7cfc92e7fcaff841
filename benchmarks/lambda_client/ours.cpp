// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

#include "measure.hpp"

/// Our dispatchers: `bench_lambda_ours http2|http1 URL IN_FLIGHT INVOCATIONS [once|memory]`. Prints
/// invocations per second and microseconds of processor time of this process for each; with `once`
/// the milliseconds of one round of invocations without a payload, connection and all; with `memory`
/// the resident bytes, payload apart, for each of INVOCATIONS that the server leaves unanswered.
namespace {

constexpr std::size_t payload_size = 200;

int nothing(std::string) { return 1; }

struct client {
  cppless::instance instance;
  std::string payload;
  std::vector<int> results;

  void send(std::size_t at) {
    cppless::dispatch(instance, cppless::fn<&nothing>, results[at], {payload});
  }
  void round(std::size_t in_flight) {
    results.assign(results.size(), -1);
    std::size_t sent = 0;
    while (sent < std::min(in_flight, results.size())) send(sent++);
    for (std::size_t done = 0; done < results.size(); ++done) {
      instance.wait_one();
      if (sent < results.size()) send(sent++);
    }
    for (const int each : results) {
      if (each != 0) std::fprintf(stderr, "wrong result %d\n", each), std::exit(1);
    }
  }
};

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

/// Returns once nothing more is being done, all requests are on their way.
void settle() {
  for (double used = -1; bench::cpu_seconds() - used > 1e-3;) {
    used = bench::cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

void print_memory(client& of) {
  // What one connection takes is there before.
  constexpr std::size_t first = 100;
  for (std::size_t i = 0; i < first; ++i) of.send(i);
  settle();
  const std::size_t before = resident_bytes();
  for (std::size_t i = first; i < of.results.size(); ++i) of.send(i);
  settle();
  std::printf("%.0f\n", static_cast<double>(resident_bytes() - before) /
                                static_cast<double>(of.results.size() - first) -
                            static_cast<double>(payload_size));
  std::fflush(stdout);
  std::_Exit(0);  // waiting for the answers would take minutes
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const bench::stopwatch since_start;
  cppless::aws_lambda_options options;
  options.endpoint = argv[2];
  options.most_in_flight = 5000;
  options.most_connections = 2000;
  const std::size_t in_flight = std::strtoul(argv[3], nullptr, 10);
  const std::size_t count = std::strtoul(argv[4], nullptr, 10);
  const std::string mode = argc > 5 ? argv[5] : "";
  const bool is_http2 = std::strcmp(argv[1], "http2") == 0;
  client of{is_http2 ? cppless::aws_lambda_nghttp2_dispatcher(options).create_instance()
                     : cppless::aws_lambda_beast_dispatcher(options).create_instance(),
            std::string(mode == "once" ? 0 : payload_size - 8, 'x'),  // 8 for its length
            std::vector<int>(mode.empty() ? in_flight : count)};
  if (mode == "memory") print_memory(of);
  of.round(in_flight);
  if (mode == "once") return since_start.print_ms(), 0;
  of.results.resize(count);
  const bench::stopwatch since_warm;
  of.round(in_flight);
  since_warm.print(count);
}

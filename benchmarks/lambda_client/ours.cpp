// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <cppless/cppless.hpp>

/// Our dispatchers: `bench_lambda_ours http2|http1 URL IN_FLIGHT INVOCATIONS [once]`. Prints
/// invocations per second and microseconds of processor time of this process for each; with `once`
/// the milliseconds of one round of INVOCATIONS, connection and all.
namespace {

int nothing(std::string) { return 1; }

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  cppless::aws_lambda_options options;
  options.endpoint = argv[2];
  options.most_in_flight = 5000;
  options.most_connections = 2000;
  const std::size_t in_flight = std::strtoul(argv[3], nullptr, 10);
  const std::size_t count = std::strtoul(argv[4], nullptr, 10);
  const bool is_once = argc > 5;
  const bool is_http2 = std::strcmp(argv[1], "http2") == 0;
  const std::string payload(192, 'x');  // with its length 200 bytes
  std::vector<int> results(count, -1);
  const std::size_t memory = resident_bytes();
  double begin = now();
  cppless::instance instance =
      is_http2 ? cppless::aws_lambda_nghttp2_dispatcher(options).create_instance()
               : cppless::aws_lambda_beast_dispatcher(options).create_instance();
  const auto send = [&](std::size_t at) {
    cppless::dispatch(instance, cppless::fn<&nothing>, results[at], {payload});
  };
  if (!is_once) {  // warm: connections are there
    int result = -1;
    for (std::size_t i = 0; i < in_flight; ++i) {
      cppless::dispatch(instance, cppless::fn<&nothing>, result, {payload});
    }
    cppless::wait(instance, in_flight);
    begin = now();
  }
  const double cpu = cpu_seconds();
  std::size_t sent = 0;
  while (sent < std::min(in_flight, count)) send(sent++);
  const std::size_t full = resident_bytes();
  for (std::size_t done = 0; done < count; ++done) {
    instance.wait_one();
    if (sent < count) send(sent++);
  }
  const double seconds = now() - begin;
  const double used = cpu_seconds() - cpu;
  for (const int each : results) {
    if (each != 0) std::fprintf(stderr, "wrong result %d\n", each), std::exit(1);
  }
  if (is_once) {
    std::printf("%.2f ms, %zu bytes resident for each under way\n", seconds * 1e3,
                (full - memory) / in_flight);
  } else {
    std::printf("%.0f/s %.2f us\n", static_cast<double>(count) / seconds,
                used * 1e6 / static_cast<double>(count));
  }
}

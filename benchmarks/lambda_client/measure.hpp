// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdio>

namespace bench {

/// Of this process, all threads.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Rate and processor time since it was made, in the form lambda_client.py reads.
class stopwatch {
 public:
  void print(std::size_t invocations) const {
    const double count = static_cast<double>(invocations);
    const double seconds = now() - begin_;
    std::printf("%.1f %.3f\n", count / seconds, (cpu_seconds() - cpu_) * 1e6 / count);
  }
  void print_ms() const { std::printf("%.3f\n", (now() - begin_) * 1e3); }

 private:
  double begin_ = now();
  double cpu_ = cpu_seconds();
};

}  // namespace bench

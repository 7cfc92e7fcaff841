// SPDX-License-Identifier: Apache-2.0
// RUN: driver
// OUT: a.out: calls 42
// OUT: a_alt_0.out: responds 42
// Paper, Figure 4: ProcessBridge. Its entry lacks `static`, without which it could not be started; what
// it leaves open, gen_id, spawn,
// deserialize, respond_http and read_http_request, is given the simplest meaning, and main uses
// it.
#include <cstdio>

template <class Func>
const char* gen_id() { return "bridge"; }
int spawn(const char*) { return 42; }
int read_http_request() { return 0; }
template <class Func>
void deserialize(int, Func&) {}
void respond_http(int value) { std::printf("responds %d\n", value); }

template <class Func>
struct ProcessBridge {
  int operator()() {
    auto alt_entry_name = gen_id<Func>();
    // Spawn execution of the alternative entry point.
    return spawn(alt_entry_name);
  }
  __attribute((entry)) static int main(int, char**) {
    Func func;
    deserialize(read_http_request(), func);
    respond_http(func());
  }
};

int main() {
  auto answer = [] { return 42; };
  std::printf("calls %d\n", ProcessBridge<decltype(answer)>{}());
}

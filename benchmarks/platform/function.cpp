// SPDX-License-Identifier: Apache-2.0
// A Lambda runtime that does nothing: it answers each invocation with the time of its own first
// instruction (CLOCK_MONOTONIC, ns). With ONCE in its environment it ends after each answer, so that the
// next start is cold.
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

/// Reads one answer without keeping its body; copies the request id.
bool read_answer(int peer, char (&id)[64]) {
  static char buffer[1 << 20];
  std::size_t have = 0;
  for (;;) {
    const ssize_t count = read(peer, buffer + have, sizeof buffer - 1 - have);
    if (count <= 0) return false;
    have += static_cast<std::size_t>(count);
    buffer[have] = 0;
    const char* end = strstr(buffer, "\r\n\r\n");
    const char* length = end ? strcasestr(buffer, "content-length: ") : nullptr;
    if (!length || have < static_cast<std::size_t>(end - buffer) + 4 + std::strtoul(length + 16, nullptr, 10)) continue;
    if (const char* name = strcasestr(buffer, "request-id: ")) std::sscanf(name + 12, "%40[0-9a-f-]", id);
    return true;
  }
}

}  // namespace

int main() {
  timespec began;
  clock_gettime(CLOCK_MONOTONIC, &began);
  char address[64];
  std::snprintf(address, sizeof address, "%s", std::getenv("AWS_LAMBDA_RUNTIME_API"));
  char* colon = std::strchr(address, ':');
  *colon = 0;
  const char* folder = std::strchr(colon + 1, '/');  // cargo-lambda's address has a path
  if (!folder) folder = "";
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<unsigned short>(std::atoi(colon + 1)));
  inet_pton(AF_INET, address, &where.sin_addr);
  const int peer = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(peer, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) return 1;
  const int one = 1;
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  char body[32];
  const int length = std::snprintf(body, sizeof body, "%lld", began.tv_sec * 1000000000LL + began.tv_nsec);
  char id[64] = {};
  char next[128];
  const int next_size = std::snprintf(next, sizeof next, "GET %s/2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n", folder);
  char request[512];
  for (;;) {
    if (write(peer, next, static_cast<std::size_t>(next_size)) < 0 || !read_answer(peer, id)) return 2;
    const int size = std::snprintf(request, sizeof request,
                                   "POST %s/2018-06-01/runtime/invocation/%s/response HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
                                   folder, id, length, body);
    if (write(peer, request, static_cast<std::size_t>(size)) < 0 || !read_answer(peer, id)) return 3;
    if (std::getenv("ONCE")) return 0;
  }
}

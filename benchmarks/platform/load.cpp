// SPDX-License-Identifier: Apache-2.0
// load PORT CONNECTIONS COUNT FILE: sends the request in FILE COUNT times over HTTP/1.1 connections,
// one at a time on each, and prints the median and 99th percentile in us and the rate per second.
// Ends with status 1 at any answer but 200. Where a server closes after each answer, as moto's does,
// connecting again counts as part of the next request.
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <netinet/tcp.h>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using steady = std::chrono::steady_clock;

struct connection {
  int socket = -1;
  steady::time_point sent;
  std::string answer;
};

bool open_connection(connection& each, const sockaddr_in& where, int watch) {
  each.socket = socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  setsockopt(each.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(each.socket, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) return false;
  epoll_event event{EPOLLIN, {.ptr = &each}};
  return epoll_ctl(watch, EPOLL_CTL_ADD, each.socket, &event) == 0;
}

/// Whether `answer` is there as a whole.
bool is_whole(const std::string& answer) {
  const auto head = answer.find("\r\n\r\n");
  const char* length = head == answer.npos ? nullptr : strcasestr(answer.c_str(), "content-length: ");
  return length && answer.size() >= head + 4 + std::strtoul(length + 16, nullptr, 10);
}

bool is_good(const std::string& answer) {
  if (answer.compare(0, 12, "HTTP/1.1 200") == 0 && !strcasestr(answer.c_str(), "x-amz-function-error")) return true;
  std::fprintf(stderr, "%s\n", answer.c_str());
  return false;
}

int main(int count, char** words) {
  if (count != 5) return 2;
  const int connections = std::atoi(words[2]);
  long left = std::atol(words[3]);
  std::ifstream file(words[4], std::ios::binary);
  const std::string request((std::istreambuf_iterator<char>(file)), {});
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<unsigned short>(std::atoi(words[1])));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int watch = epoll_create1(0);
  std::vector<connection> all(static_cast<std::size_t>(connections));
  std::vector<double> times;
  const auto send_one = [&](connection& each) {
    --left;
    const bool again = strcasestr(each.answer.c_str(), "\r\nconnection: close");
    each.answer.clear();
    each.sent = steady::now();
    if (again) {
      close(each.socket);
      if (!open_connection(each, where, watch)) return false;
    }
    return write(each.socket, request.data(), request.size()) == static_cast<ssize_t>(request.size());
  };
  const auto began = steady::now();
  long open = 0;
  for (connection& each : all) {
    if (!open_connection(each, where, watch)) return 1;
    if (left > 0 && send_one(each)) ++open;
  }
  while (open > 0) {
    epoll_event events[64];
    const int ready = epoll_wait(watch, events, 64, 60'000);
    if (ready <= 0) return 1;
    for (int i = 0; i < ready; ++i) {
      connection& each = *static_cast<connection*>(events[i].data.ptr);
      char piece[65536];
      const ssize_t size = read(each.socket, piece, sizeof piece);
      if (size <= 0) return 1;
      each.answer.append(piece, static_cast<std::size_t>(size));
      if (!is_whole(each.answer)) continue;
      if (!is_good(each.answer)) return 1;
      times.push_back(std::chrono::duration<double, std::micro>(steady::now() - each.sent).count());
      if (left > 0) {
        if (!send_one(each)) return 1;
      } else {
        close(each.socket);  // or the server's close would be taken for a lost answer
        --open;
      }
    }
  }
  const double seconds = std::chrono::duration<double>(steady::now() - began).count();
  std::sort(times.begin(), times.end());
  std::printf("%.1f %.1f %.0f\n", times[times.size() / 2], times[times.size() * 99 / 100], static_cast<double>(times.size()) / seconds);
}

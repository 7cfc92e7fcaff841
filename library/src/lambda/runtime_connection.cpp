// SPDX-License-Identifier: Apache-2.0
#include "lambda/runtime_connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include <cppless/errors.hpp>

#include "base/system_call.hpp"

namespace cppless::detail {
namespace {

using clock = std::chrono::steady_clock;

constexpr int most_attempts = 4;

std::uint32_t parse_address(std::string_view text, char* to) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  std::string host(text.substr(0, colon == text.npos ? 0 : colon));
  if (colon != text.npos) {
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + colon + 1, end, port).ptr != end) port = 0;
  }
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (port != 0 && ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(to, &v4, sizeof v4);
    return sizeof v4;
  }
  if (port != 0 && ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(to, &v6, sizeof v6);
    return sizeof v6;
  }
  throw rejected("'" + std::string(text) +
                 "' is no address of a Runtime API: a numeric one and a port are needed, as in "
                 "127.0.0.1:9001");
}

int milliseconds_until(clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<long long>(left, 1 << 30));
}

bool is_closed(int code) { return code == EPIPE || code == ECONNRESET; }

}  // namespace

runtime_connection::runtime_connection(std::string_view address, runtime_patience patience)
    : host_(address), address_size_(parse_address(address, address_)), patience_(patience) {}

void runtime_connection::connect() {
  const auto* address = reinterpret_cast<const sockaddr*>(address_);
  socket_ = file_descriptor(check_system_call(
      ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket", host_));
  const int one = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const auto silence = patience_.silence.count();
  const timeval limit{silence / 1000, silence % 1000 * 1000};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  check_system_call(
      retry_if_interrupted([&] { return ::connect(socket_.get(), address, address_size_); }),
      "connect", host_);
}

std::string runtime_connection::head_of(std::string_view method, std::string_view path) const {
  std::string head(method);
  head.append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(host_);
  return head.append("\r\nUser-Agent: cppless\r\n");
}

std::optional<runtime_reply> runtime_connection::get(std::string_view path, int stop) {
  const std::string head = head_of("GET", path) + "\r\n";
  if (repeat(head, {}, stop) == attempt::stopped) return std::nullopt;
  return std::move(last_reply_);
}

runtime_reply runtime_connection::post(std::string_view path, std::string_view more_headers,
                                       std::string_view body) {
  std::string head = head_of("POST", path);
  head.append("Content-Type: application/json\r\nContent-Length: ");
  head.append(std::to_string(body.size())).append("\r\n").append(more_headers).append("\r\n");
  repeat(head, body, std::nullopt);
  return std::move(last_reply_);
}

runtime_connection::attempt runtime_connection::repeat(std::string_view head, std::string_view body,
                                                       std::optional<int> stop) {
  for (int attempts = 1;; ++attempts) {
    last_reply_ = {};
    attempt how = attempt::closed;
    try {
      how = exchange(head, body, stop);
    } catch (...) {
      socket_.reset();
      throw;
    }
    if (how != attempt::closed) return how;
    socket_.reset();
    if (attempts == most_attempts) {
      throw rejected("the Runtime API at " + host_ + " closed the connection " +
                     std::to_string(attempts) + " times without an answer");
    }
    if (attempts > 1) std::this_thread::sleep_for(patience_.reconnect);
  }
}

runtime_connection::attempt runtime_connection::exchange(std::string_view head,
                                                         std::string_view body,
                                                         std::optional<int> stop) {
  if (!socket_) connect();
  // What refuses a large body may answer and close before it has read all of it.
  const bool sent = send(head, body);
  const attempt how = receive(stop);
  return how == attempt::closed && !sent ? attempt::closed : how;
}

bool runtime_connection::send(std::string_view head, std::string_view body) {
  iovec pieces[2] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  std::size_t left = head.size() + body.size();
  while (left != 0) {
    const auto sent =
        retry_if_interrupted([&] { return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL); });
    if (sent < 0 && is_closed(errno)) return false;
    check_system_call(sent, "sendmsg", host_);
    left -= static_cast<std::size_t>(sent);
    auto passed = static_cast<std::size_t>(sent);
    for (iovec& piece : pieces) {
      const std::size_t some = std::min(passed, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + some;
      piece.iov_len -= some;
      passed -= some;
    }
  }
  return true;
}

runtime_connection::attempt runtime_connection::receive(std::optional<int> stop) {
  runtime_reply_reader reader;
  std::string input;
  clock::time_point end = clock::time_point::max();
  if (!stop) end = clock::now() + patience_.answer;
  std::size_t received = 0;
  try {
    while (!reader.is_done()) {
      const bool waits_for_work = stop && received == 0;
      pollfd events[2] = {{socket_.get(), POLLIN, 0}, {stop.value_or(-1), POLLIN, 0}};
      const int patience =
          waits_for_work ? -1 : milliseconds_until(std::min(end, clock::now() + patience_.silence));
      const int ready = ::poll(events, waits_for_work ? 2 : 1, patience);
      if (ready < 0 && errno == EINTR) continue;
      check_system_call(ready, "poll", host_);
      if (ready == 0) {
        throw rejected("the Runtime API at " + host_ + " was silent for too long; " +
                       std::to_string(received) + " bytes of its answer had come");
      }
      if (events[0].revents == 0) return attempt::stopped;
      const std::size_t held = input.size();
      input.resize(held + std::size_t{16} * 1024);
      const auto some = retry_if_interrupted(
          [&] { return ::recv(socket_.get(), input.data() + held, input.size() - held, 0); });
      const int code = errno;
      input.resize(held + static_cast<std::size_t>(std::max<ssize_t>(some, 0)));
      if (some == 0 || (some < 0 && is_closed(code))) {
        if (received == 0) return attempt::closed;
        reader.put_end();
        break;
      }
      errno = code;
      check_system_call(some, "recv", host_);
      if (received == 0 && stop) end = clock::now() + patience_.answer;
      received += static_cast<std::size_t>(some);
      input.erase(0, reader.put(input));
    }
  } catch (...) {
    last_reply_ = std::move(reader.reply());
    throw;
  }
  last_reply_ = std::move(reader.reply());
  // Bytes that nobody asked for belong to no answer of ours.
  if (!last_reply_.keeps_connection || !input.empty()) socket_.reset();
  return attempt::done;
}

}  // namespace cppless::detail

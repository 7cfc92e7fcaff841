// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"

namespace cppless::detail {

/// For tests: a TCP server of which the test says byte by byte what it answers, on one connection
/// after the other.
class scripted_server {
 public:
  class peer {
   public:
    explicit peer(int socket) : socket_(socket) {}

    /// What came until `end` did; less if nothing more came for two seconds.
    std::string read_until(const std::string& end) {
      while (held_.find(end) == held_.npos) {
        pollfd event{socket_.get(), POLLIN, 0};
        char text[65536];
        if (::poll(&event, 1, 2000) <= 0) break;
        const auto some = ::recv(socket_.get(), text, sizeof text, 0);
        if (some <= 0) break;
        held_.append(text, static_cast<std::size_t>(some));
      }
      const std::size_t at = held_.find(end);
      const std::string read = held_.substr(0, at == held_.npos ? at : at + end.size());
      held_.erase(0, read.size());
      return read;
    }

    void write(const std::string& text) {
      [[maybe_unused]] const auto sent =
          ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }

    /// Waits until the other side closes.
    void wait_for_end() { read_until("\1never\1"); }

   private:
    file_descriptor socket_;
    std::string held_;
  };

  /// `script` is called for each connection with its number; until it returns false.
  explicit scripted_server(std::function<bool(peer&, int)> script)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_.get(), 8);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, script] {
      for (int number = 0;; ++number) {
        const int socket = ::accept(listener_.get(), nullptr, nullptr);
        if (socket < 0) return;
        peer client(socket);
        if (!script(client, number)) break;
      }
      ::shutdown(listener_.get(), SHUT_RDWR);
    });
  }
  ~scripted_server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& address() const { return address_; }

 private:
  file_descriptor listener_;
  std::string address_;
  std::thread thread_;
};

}  // namespace cppless::detail

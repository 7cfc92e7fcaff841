// SPDX-License-Identifier: Apache-2.0
#include "sandbox/protocol.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace platform::sandbox {

using nlohmann::json;

namespace {
constexpr std::size_t message_at_most = 128 * 1024;
constexpr std::size_t descriptors_at_most = 8;
}  // namespace

std::string to_message(const start_request& r) {
  // Values of environment variables are any bytes but NUL; a function's are checked to be UTF-8.
  return json{{"id", r.id},           {"code", r.code},     {"command", r.command}, {"environment", r.environment},
              {"memory", r.memory_mb}, {"ephemeral", r.ephemeral_mb}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

start_request to_start_request(const std::string& message) {
  const json j = json::parse(message);
  return {j.at("id"), j.at("code"), j.at("command"), j.at("environment"), j.at("memory"), j.at("ephemeral")};
}

std::string to_message(const abilities& a) {
  return json{{"namespaces", a.namespaces}, {"network", a.network}, {"user", a.user}, {"seccomp", a.seccomp},
              {"cgroup", a.cgroup_version}, {"memory", a.memory},   {"cpu", a.cpu},   {"pids", a.pids},
              {"freezer", a.freezer},       {"missing", a.missing}}
      .dump();
}

abilities to_abilities(const std::string& message) {
  const json j = json::parse(message);
  return {j.at("namespaces"), j.at("network"), j.at("user"), j.at("seccomp"), j.at("cgroup"), j.at("memory"),
          j.at("cpu"),        j.at("pids"),    j.at("freezer"), j.at("missing")};
}

bool receive_message(int socket, std::string& message, std::vector<int>& descriptors) {
  message.resize(message_at_most);
  iovec piece{message.data(), message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_at_most)];
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t count = 0;
  do count = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  message.resize(static_cast<std::size_t>(count));
  descriptors.clear();
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    descriptors.resize((each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(descriptors.data(), CMSG_DATA(each), descriptors.size() * sizeof(int));
  }
  return true;
}

bool send_message(int socket, const std::string& message, const std::vector<int>& descriptors) {
  iovec piece{const_cast<char*>(message.data()), message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_at_most)] = {};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(first), descriptors.data(), sizeof(int) * descriptors.size());
  }
  ssize_t count = 0;
  do count = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(message.size());
}

}  // namespace platform::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launcher.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace platform::sandbox {

owned_descriptor& owned_descriptor::operator=(owned_descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

owned_descriptor::~owned_descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

launcher::launcher(boost::asio::io_context& context, const std::filesystem::path& run_directory,
                   const std::filesystem::path& code_directory)
    : socket_(context) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair failed");
  owned_descriptor other(ends[1]);
  socket_.assign(ends[0]);

  // With an empty environment and no descriptor but the socket: what it forks shall hold no secrets.
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], 3);
  char name[] = "cppless-platform";
  char role[] = "--spawner";
  char* words[] = {name, role, nullptr};
  char* empty[] = {nullptr};
  const int failed = ::posix_spawn(&child_, "/proc/self/exe", &files, nullptr, words, empty);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start the spawner process");

  std::vector<std::string> missing;
  groups_ = cgroups::make(missing);
  const nlohmann::json settings{
      {"cgroups", groups_.description()}, {"run", run_directory.string()}, {"code", code_directory.string()}};
  std::string message;
  std::vector<int> none;
  other = {};
  if (!send_message(ends[0], settings.dump()) || !receive_message(ends[0], message, none))
    throw std::runtime_error("the spawner process ended while starting");
  can_ = to_abilities(message);
  can_.missing.insert(can_.missing.end(), missing.begin(), missing.end());
  wait();
}

launcher::~launcher() {
  boost::system::error_code ignored;
  socket_.close(ignored);  // the spawner then ends every sandbox and itself
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
  groups_.remove_all();
}

void launcher::start(const start_request& request, on_start call) {
  waiting_[request.id] = std::move(call);
  if (send_message(socket_.native_handle(), to_message(request))) return;
  auto node = waiting_.extract(request.id);
  node.mapped()(std::nullopt, "the spawner process does not answer");
}

void launcher::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
    if (!error) take_message();
  });
}

void launcher::take_message() {
  std::string message;
  std::vector<int> fds;
  if (!receive_message(socket_.native_handle(), message, fds)) {
    const auto lost = std::exchange(waiting_, {});
    for (const auto& [id, call] : lost) call(std::nullopt, "the spawner process ended");
    if (on_loss) on_loss();
    return;
  }
  wait();
  const std::uint64_t id = std::strtoull(message.c_str(), nullptr, 10);
  auto node = waiting_.extract(id);
  if (node.empty() || fds.size() != static_cast<std::size_t>(passed::count)) {
    for (const int fd : fds) ::close(fd);
    if (!node.empty()) node.mapped()(std::nullopt, message);
    return;
  }
  node.mapped()(started{owned_descriptor(fds[0]), owned_descriptor(fds[1]), owned_descriptor(fds[2]),
                        owned_descriptor(fds[3]), owned_descriptor(fds[4])},
                {});
}

}  // namespace platform::sandbox

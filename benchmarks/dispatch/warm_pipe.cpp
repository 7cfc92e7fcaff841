// SPDX-License-Identifier: Apache-2.0
#include "warm_pipe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "fork_exec.hpp"

namespace bench {

warm_pipe::warm_pipe(std::span<const std::uint8_t> bytes, answer_sheet& answers)
    : payload_(bytes), answers_(answers), request_(sizeof(std::uint64_t) + bytes.size()) {
  std::copy(bytes.begin(), bytes.end(), request_.begin() + sizeof(std::uint64_t));
  int requests[2], responses[2];
  if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(responses, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  std::fflush(stdout);  // the child must not print what waits in the buffer
  worker_ = fork();
  if (worker_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (worker_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve(requests[0], responses[1]);
  }
  close(requests[0]);
  close(responses[1]);
  to_worker_ = requests[1];
  from_worker_ = responses[0];
}

warm_pipe::~warm_pipe() {
  close(to_worker_);
  close(from_worker_);
  kill(worker_, SIGKILL);
  waitpid(worker_, nullptr, 0);
}

void warm_pipe::submit(std::uint64_t index) {
  std::memcpy(request_.data(), &index, sizeof index);
  write_all(to_worker_, request_.data(), request_.size());
}

void warm_pipe::wait_one() {
  if (taken_ == available_) {
    const ssize_t got = read(from_worker_, received_.data(), sizeof received_);
    if (got <= 0 || got % sizeof(answer) != 0) {
      throw std::system_error(EPIPE, std::generic_category(), "read an answer");
    }
    available_ = static_cast<std::size_t>(got) / sizeof(answer);
    taken_ = 0;
  }
  const answer& next = received_[taken_++];
  answers_[next.index] = next.value;
}

void warm_pipe::serve(int requests, int responses) const {
  const std::size_t size = request_.size();
  // Small requests are read as many at a time as have come, large ones to their end.
  std::vector<std::uint8_t> buffer(std::max<std::size_t>(size, 64 * kib));
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = read(requests, buffer.data() + filled, buffer.size() - filled);
    if (got <= 0) {
      _exit(0);
    }
    filled += static_cast<std::size_t>(got);
    std::size_t used = 0;
    for (; filled - used >= size; used += size) {
      answer reply{};
      std::memcpy(&reply.index, buffer.data() + used, sizeof reply.index);
      reply.value = answer_of(reply.index, {buffer.data() + used + sizeof reply.index,
                                            size - sizeof reply.index});
      write_all(responses, &reply, sizeof reply);
    }
    filled -= used;
    std::memmove(buffer.data(), buffer.data() + used, filled);
  }
}

}  // namespace bench

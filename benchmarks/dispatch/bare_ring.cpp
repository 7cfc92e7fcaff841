// SPDX-License-Identifier: Apache-2.0
#include "bare_ring.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "pinned.hpp"

namespace bench {

template <class Ring>
bare_ring<Ring>::bare_ring(std::span<const std::uint8_t> bytes, std::size_t in_flight,
                           answer_sheet& answers)
    : payload_(bytes),
      in_flight_(in_flight),
      mapped_(sizeof(shared) + bytes.size() * in_flight),
      answers_(answers) {
  if (in_flight > ring_capacity) {
    throw std::system_error(EINVAL, std::generic_category(), "more in flight than records");
  }
  void* memory =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  rings_ = new (memory) shared;
  slots_ = static_cast<std::uint8_t*>(memory) + sizeof(shared);
  Ring::prepare();
  std::fflush(stdout);  // the child must not print what waits in the buffer
  worker_ = fork();
  if (worker_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (worker_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pinned other_core(1);
    Ring::prepare();
    serve();
  }
}

template <class Ring>
bare_ring<Ring>::~bare_ring() {
  kill(worker_, SIGKILL);
  waitpid(worker_, nullptr, 0);
  munmap(rings_, mapped_);
}

template <class Ring>
void bare_ring<Ring>::serve() {
  payload bytes(payload_.size());
  for (std::uint64_t number = 0;; ++number) {
    const message& request = rings_->requests.read(number);
    if (request.payload_bytes != 0) {  // copied: a task owns its arguments
      std::memcpy(bytes.data(), slot(number), bytes.size());
    }
    rings_->responses.write(number, {request.index, answer_of(request.value, bytes), 0, {}});
  }
}

template class bare_ring<shared_ring>;
template class bare_ring<tight_ring>;
template class bare_ring<indexed_ring>;

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "base/system_call.hpp"

namespace cppless::detail {

shared_memory shared_memory::create(const std::string& name, std::size_t size,
                                    std::size_t smallest) {
  shared_memory result;
  result.descriptor_ = moved_high(check_system_call(
      ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create", name));
  for (;; size /= 2) {
    const bool sized = ::ftruncate(result.descriptor(), static_cast<off_t>(size)) == 0;
    void* mapped = !sized ? MAP_FAILED
                          : ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, result.descriptor(), 0);
    if (mapped != MAP_FAILED) {
      result.data_ = static_cast<std::byte*>(mapped);
      result.size_ = size;
      // A process that shrank the file would make every other one fault on its next access.
      ::fcntl(result.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
      return result;
    }
    if (smallest == 0 || size / 2 < smallest) {
      check_system_call(-1, "mmap", name + ", " + std::to_string(size) + " bytes");
    }
  }
}

shared_memory shared_memory::attach(file_descriptor descriptor, access rights) {
  struct stat status {};
  check_system_call(::fstat(descriptor.get(), &status), "fstat",
                    std::to_string(descriptor.get()));
  shared_memory result;
  result.size_ = static_cast<std::size_t>(status.st_size);
  const int protection = rights == access::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* mapped = ::mmap(nullptr, result.size_, protection, MAP_SHARED | MAP_NORESERVE,
                        descriptor.get(), 0);
  if (mapped == MAP_FAILED) {
    check_system_call(-1, "mmap", std::to_string(result.size_) + " bytes");
  }
  result.data_ = static_cast<std::byte*>(mapped);
  result.descriptor_ = std::move(descriptor);
  return result;
}

shared_memory::~shared_memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

file_descriptor shared_memory::read_only_descriptor() const {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor());
  return moved_high(
      check_system_call(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open", path));
}

void shared_memory::discard(std::size_t offset, std::size_t size) const noexcept {
  ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(size));
}

void shared_memory::swap(shared_memory& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/task/shared_bytes.hpp>
#include <cppless/detail/trace/task_trace.hpp>
#include <cppless/detail/wire/buffer.hpp>
#include <cppless/statistics.hpp>

namespace cppless::detail {

/// Where payloads too large for their job live; each transport has its own.
class payload_memory {
 public:
  virtual ~payload_memory() = default;
  /// At least `capacity` bytes; sets `capacity` to what there really is. Throws `rejected`.
  virtual std::byte* allocate(std::size_t& capacity) = 0;
  virtual void release(std::byte* block, std::size_t capacity) noexcept = 0;
};

class payload_buffer;

/// A request taken out of its job, which may be gone.
class detached_payload {
 public:
  /// Empties `from`.
  explicit detached_payload(payload_buffer& from) noexcept;
  detached_payload(const detached_payload&) = delete;
  detached_payload& operator=(const detached_payload&) = delete;
  ~detached_payload() {
    if (data_ != local_) memory_->release(data_, capacity_);
  }

  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  payload_memory* memory_;
  std::byte* data_ = local_;
  std::size_t size_;
  std::size_t capacity_ = 0;
  std::byte local_[64];
};

/// An encoded request. Small ones lie in the object itself.
class payload_buffer final : public sink {
 public:
  explicit payload_buffer(payload_memory& memory) noexcept : memory_(&memory) {
    begin_ = cur_ = local_;
    end_ = local_ + sizeof local_;
  }
  payload_buffer(const payload_buffer&) = delete;
  payload_buffer& operator=(const payload_buffer&) = delete;
  ~payload_buffer() { release(); }

  bool is_local() const noexcept { return begin_ == local_; }

  /// Frees the memory; the payload is gone.
  void release() noexcept;

  luggage* beside() noexcept override { return sharing_scope::beside(); }

 private:
  friend class detached_payload;

  void grow(std::size_t more) override;

  payload_memory* memory_;
  std::byte local_[64];
};

/// Why a job came to no result.
struct failure {
  error_kind kind;
  std::string message;
  std::string remote_type = {};
};

/// One invocation on its way through a transport: what to call with which payload, and where its
/// result goes. A transport owns the job until it hands it to `instance_core::publish`.
class job {
 public:
  job(const entry& what, payload_memory& memory) : what(what), payload(memory) {
    if (is_tracing.load(std::memory_order_relaxed)) [[unlikely]] trace = start_task_trace();
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  virtual ~job() = default;

  /// Decodes the result into its place. What this throws becomes the task's failure.
  virtual void succeed(source& result) = 0;
  virtual void fail(std::exception_ptr reason) noexcept = 0;

  /// Whether `succeed` also takes a result that did not become bytes.
  virtual bool takes_objects() const noexcept { return false; }

  /// Whether `wait_one` reports this job.
  virtual bool is_awaited() const noexcept = 0;

  /// Called once settled, with the core's lock held: makes the outcome visible.
  virtual void publish() noexcept {}

  /// Called without a lock after `publish`: continuations.
  virtual void notify() noexcept {}

  /// The error of a failed job that `wait_one` is to throw.
  virtual std::exception_ptr thrown() const noexcept { return {}; }

  const entry& what;
  payload_buffer payload;
  std::unique_ptr<shared_things> shared;  ///< That the payload only names; null for most.
  execution_statistics statistics;
  std::uint64_t submitted = 0;          ///< In ticks (base/ticks.hpp).
  std::uint64_t deadline_ns = 0;        ///< Monotonic clock; 0: none.
  task_limits limits;                   ///< The entry's, or Lambda's defaults where strict.
  std::uint64_t parent = 0;             ///< Transport's own: which task dispatched it; 0: the host.
  std::uint64_t parent_local_id = 0;    ///< The parent's number for it.
  std::unique_ptr<job> next;            ///< Link of the list it is in.
  std::unique_ptr<task_trace> trace;    ///< Null where nothing is traced.
};

/// Jobs in order; owns them.
class job_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  job* first() const noexcept { return first_.get(); }
  void push_back(std::unique_ptr<job> added) noexcept {
    job* const raw = added.get();
    (last_ != nullptr ? last_->next : first_) = std::move(added);
    last_ = raw;
  }
  void push_front(std::unique_ptr<job> added) noexcept {
    if (last_ == nullptr) last_ = added.get();
    added->next = std::move(first_);
    first_ = std::move(added);
  }
  std::unique_ptr<job> pop_front() noexcept {
    std::unique_ptr<job> taken = std::move(first_);
    first_ = std::move(taken->next);
    if (first_ == nullptr) last_ = nullptr;
    return taken;
  }
  /// Takes out the first job for which `matches` holds, if any.
  template <class Predicate>
  std::unique_ptr<job> take_first(Predicate matches) noexcept {
    job* before = nullptr;
    for (job* at = first(); at != nullptr; before = at, at = at->next.get()) {
      if (!matches(*at)) continue;
      std::unique_ptr<job>& link = before != nullptr ? before->next : first_;
      std::unique_ptr<job> taken = std::move(link);
      link = std::move(taken->next);
      if (last_ == taken.get()) last_ = before;
      return taken;
    }
    return nullptr;
  }
  // Unlinked one by one: the default would recurse through the whole list.
  ~job_list() {
    while (!empty()) pop_front();
  }
  job_list() = default;
  job_list(job_list&& other) noexcept
      : first_(std::move(other.first_)), last_(std::exchange(other.last_, nullptr)) {}
  job_list& operator=(job_list&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }

 private:
  std::unique_ptr<job> first_;
  job* last_ = nullptr;
};

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <cppless/cppless.hpp>

#include "base/shared_memory.hpp"
#include "process/pool.hpp"
#include "process/shared_layout.hpp"

/// What the host reads from its workers: records of finished tasks, messages about nested tasks,
/// results in the worker's memory, and every word of the shared memory that a worker can write.
///
/// The worker is a process that does nothing. This process writes in its place what an input says,
/// while two tasks run; then it ends them as a worker should, or kills the worker. Both tasks must end,
/// and the host must not read or write outside its memory.
namespace {

using namespace cppless::detail;
using namespace std::chrono_literals;

constexpr std::uint32_t looked_at = 64;  // slots; the host uses the lowest that are free
constexpr std::size_t pid_place = 1 << 16;  // in the worker's memory
constexpr auto patience = 60s;  // on a machine that has other things to do

// Replaces the library's worker in the process that the host starts.
[[gnu::constructor]] void be_an_idle_worker() {
  const char* const index = std::getenv(worker_variable);
  if (index == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto attach = [](int descriptor) {
    return shared_memory::attach(file_descriptor(descriptor), access::read_write);
  };
  const shared_memory control = attach(control_descriptor);
  const shared_memory mine = attach(worker_memory_descriptor);
  auto& record = reinterpret_cast<shared_control*>(control.data())->workers[std::atoi(index)];
  record.is_alive.store(1);
  const pid_t pid = ::getpid();
  std::memcpy(mine.data() + pid_place, &pid, sizeof pid);
  constexpr auto exit = static_cast<std::uint32_t>(worker_command::exit);
  while (record.command.load() != exit) ::usleep(1000);
  ::_exit(0);
}

// A mapping of our own of the host's memory of this name. Empty if there is none.
shared_memory find_memory(const std::string& name) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(each, gone).string();
    if (gone || target.find("memfd:" + name) == std::string::npos) continue;
    file_descriptor opened(::open(each.path().c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (::fstat(opened.get(), &status) == 0 && status.st_size != 0) {
      return shared_memory::attach(std::move(opened), access::read_write);
    }
  }
  return {};
}

class script {
 public:
  script(const std::byte* data, std::size_t size) : at_(data), left_(size) {}
  bool is_over() const { return left_ == 0; }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    copy(&value, bytes);
    return value;
  }
  void copy(void* to, std::size_t most) {
    const std::size_t size = std::min(most, left_);
    std::memcpy(to, at_, size);
    at_ += size;
    left_ -= size;
  }

 private:
  const std::byte* at_;
  std::size_t left_;
};

std::string echo(std::string text) { return text; }

class puppeteer {
 public:
  void run(unsigned flags, script input) {
    // Starting a worker takes as long as hundreds of inputs.
    const bool is_killed = flags == 0xff && deaths_asked_for_++ % 256 == 0;
    const bool is_cancelled = flags % 16 == 1;
    auto one = cppless::async(instance_, cppless::fn<&echo>, std::string("short"));
    auto other = cppless::async(instance_, cppless::fn<&echo>, std::string(300, 'x'));
    if (pid_ == 0 || ::kill(pid_, 0) != 0) meet_worker();
    // The host ends a worker that claims what cannot be: the script must not go on with the next.
    const auto is_impossible = [this] {
      return control_->workers[0].outbox.tail.load() > control_->workers[0].outbox.head.load() + 64;
    };
    for (int turn = 0; turn < 16 && !input.is_over() && !is_impossible(); ++turn) {
      play(input, is_killed);
    }
    if (is_cancelled) one.cancel();
    if (is_killed) ::kill(pid_, SIGKILL);
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (int turn = 1;; ++turn) {
      end_tasks();
      if (one.wait_for(10us) && other.wait_for(10us)) break;
      if (std::chrono::steady_clock::now() > give_up) fuzz::fail("a task does not end");
      // What a slot said may have been the script's and not the host's.
      if (turn % 100 == 0) std::fill(std::begin(ended_), std::end(ended_), 0);
    }
    for (auto* ended : {&one, &other}) {
      try {
        (void)ended->get();
      } catch (const cppless::error&) {
      }
    }
  }

 private:
  // The host has started a worker or is about to: a new one finds the shared memory as the last one
  // has left it.
  void meet_worker() {
    if (control_ == nullptr) {
      control_memory_ = find_memory("cppless-control");
      control_ = reinterpret_cast<shared_control*>(control_memory_.data());
    }
    const auto give_up = std::chrono::steady_clock::now() + patience;
    for (pid_ = 0; pid_ == 0 || ::kill(pid_, 0) != 0; ::usleep(100)) {
      if (std::chrono::steady_clock::now() > give_up) fuzz::fail("no worker starts");
      memory_ = shared_memory();
      memory_ = find_memory("cppless-worker");
      if (memory_.data() != nullptr) std::memcpy(&pid_, memory_.data() + pid_place, sizeof pid_);
    }
  }

  std::uint64_t near(script& input, std::uint64_t base) {
    const std::uint64_t kind = input.number(1);
    return kind < 0xf0 ? base + kind % 8 : input.number(8);
  }

  // Sizes that are right are small: what they say would be read and copied.
  std::uint64_t some_size(script& input) {
    const std::uint64_t size = near(input, 8 * input.number(1));
    return size <= memory_.size() ? size % (1 << 16) : size;
  }

  void play(script& input, bool is_killed) {
    worker_record& record = control_->workers[0];
    switch (input.number(1) % 10) {
      case 0: case 3: case 4: case 5: return report(input);
      case 1: return post(input);
      case 2: {  // ends the worker if it cannot be, which takes long
        if (!is_killed) return;
        std::atomic<std::uint64_t>* const ends[] = {&record.outbox.tail, &record.outbox.head,
                                                    &record.inbox.tail, &record.inbox.head};
        auto& end = *ends[input.number(1) % 4];
        end.store(near(input, end.load()));
        break;
      }
      case 6: input.copy(memory_.data() + input.number(1) * 8, 64); return;
      case 7: control_->urgent.passed.store(near(input, 0)); return;
      case 8: control_->bell.store(static_cast<std::uint32_t>(input.number(1))); return;
      case 9:
        // The host notices when the worker ends.
        if (is_killed) control_->slots[input.number(1) % 4].state.store(input.number(8));
        return;
    }
    control_->messages.fetch_add(1);
  }

  void report(script& input) {
    finished_record& record = control_->finished[0].at(position_ + input.number(1) % 4);
    const std::uint64_t which = input.number(1);
    record.slot = static_cast<std::uint16_t>(which < 0xf0 ? which % 4 : input.number(2));
    const std::uint32_t generation =
        slot_state::unpack(control_->slots[record.slot % slot_count].state.load()).generation;
    record.generation = static_cast<std::uint32_t>(near(input, generation));
    record.outcome = static_cast<run_outcome>(input.number(1));
    record.started = input.number(8);
    record.ended = input.number(8);
    record.result_size = some_size(input);
    input.copy(record.inline_result, 1 + input.number(1) % inline_result_bytes);
    record.number.store(near(input, position_ + 1));
    skip_written();
  }

  void post(script& input) {
    outbox_message message{};
    message.kind = static_cast<outbox_message::kind_type>(input.number(1) % 6);
    message.local_id = input.number(1) % 4;
    message.identity = near(input, all_entries().front()->identity());
    message.offset = near(input, 0);
    message.size = some_size(input);
    control_->workers[0].outbox.push(message);
    control_->messages.fetch_add(1);
  }

  void skip_written() {
    while (control_->finished[0].has(position_)) ++position_;
  }

  // What a worker would do: answers every task, reads every message.
  void end_tasks() {
    control_->urgent.passed.store(~std::uint64_t{0});
    worker_record& self = control_->workers[0];
    self.inbox.head.store(self.inbox.tail.load());
    for (std::uint32_t slot = 0; slot < looked_at; ++slot) {
      const slot_state state = slot_state::unpack(control_->slots[slot].state.load());
      if (state.phase == slot_phase::free || ended_[slot] == state.generation) continue;
      ended_[slot] = state.generation;
      skip_written();
      finished_record& record = control_->finished[0].at(position_);
      record.slot = static_cast<std::uint16_t>(slot);
      record.generation = state.generation;
      record.outcome = run_outcome::result;
      const auto text = cppless::binary_archive::serialize(std::string("short"));
      record.result_size = text.view().size();
      std::memcpy(record.inline_result, text.view().data(), text.view().size());
      record.number.store(position_ + 1);
    }
  }

  cppless::instance instance_{std::make_shared<pool>(1)};
  shared_memory control_memory_;
  shared_control* control_ = nullptr;
  shared_memory memory_;  // the worker's own
  pid_t pid_ = 0;
  unsigned deaths_asked_for_ = 0;
  std::uint64_t position_ = 0;  // of the next record
  std::uint32_t ended_[looked_at] = {};  // which use of each slot has been ended
};

}  // namespace

namespace fuzz {

seeds make_seeds() { return {std::string(200, '\0'), std::string(200, '\1'), std::string(1, '\xff')}; }

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  static puppeteer only;
  only.run(kind, script(data, size));
}

}  // namespace fuzz

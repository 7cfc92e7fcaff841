// SPDX-License-Identifier: Apache-2.0
#include <cppless/detached.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "process/detached_spool.hpp"

namespace cppless {

using detail::detached_spool;

std::string detached_id::to_string() const { return detail::id_text(key_); }

detached_id detached_id::parse(std::string_view text) {
  if (const auto key = detail::key_from(text)) return detached_id(*key);
  throw rejected("'" + std::string(text.substr(0, 64)) +
                 "' names no detached task: that takes 32 digits from 0 to 9 and a to f");
}

std::string_view to_string(detached_state state) noexcept {
  switch (state) {
    case detached_state::running: return "running";
    case detached_state::done: return "done";
    case detached_state::failed: return "failed";
    case detached_state::lost: return "lost";
    case detached_state::unknown: break;
  }
  return "unknown";
}

detached_state state_of(const detached_id& id) {
  const detached_spool spool = detached_spool::open(false);
  const auto ended = [&] { return spool.has_ended(id.key()); };
  if (!ended()) {
    if (spool.keeper_of(id.key()) != 0) return detached_state::running;
    if (!spool.is_known(id.key())) return detached_state::unknown;
    if (!ended()) return detached_state::lost;  // it may have just ended
  }
  const auto outcome = spool.read(id.key());
  if (!outcome) return detached_state::unknown;  // collected meanwhile
  return outcome->reason ? detached_state::failed : detached_state::done;
}

bool cancel(const detached_id& id) {
  const detached_spool spool = detached_spool::open(false);
  const pid_t keeper = spool.keeper_of(id.key());
  if (keeper <= 0) return false;
  const detail::file_descriptor process(
      static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  // The number was its own until it was opened, or belongs to nobody any more.
  if (!process || spool.keeper_of(id.key()) != keeper) return false;
  const detail::failure reason{error_kind::cancelled,
                               "detached task " + id.to_string() + " was cancelled"};
  if (!spool.write(id.key(), {{}, {}, reason})) return false;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  return true;
}

bool forget(const detached_id& id) {
  const detached_spool spool = detached_spool::open(false);
  // With its outcome there the keeper is about to end.
  const bool is_over = spool.has_ended(id.key()) || spool.keeper_of(id.key()) == 0;
  return is_over && spool.remove(id.key());
}

std::string log_of(const detached_id& id) { return detached_spool::open(false).log_of(id.key()); }

namespace detail {
namespace {

[[noreturn]] void throw_unknown(const detached_spool& in, const detached_key& task) {
  throw rejected("there is no detached task " + id_text(task) + " in '" + in.path() +
                 "': it was never dispatched by this user on this machine, was collected already, or "
                 "ended more than 7 days ago");
}

bytes taken_result(detached_outcome& outcome, const char* result_type, const detached_key& task) {
  if (outcome.reason) {
    error::raise(outcome.reason->kind, outcome.reason->message, 0, outcome.reason->remote_type);
  }
  if (outcome.result_type != result_type) {
    throw rejected("detached task " + id_text(task) + " returns '" + outcome.result_type +
                   "', it cannot be collected as '" + result_type + "'");
  }
  return std::move(outcome.result);
}

}  // namespace

std::optional<bytes> wait_for_detached(const detached_key& of, const char* result_type,
                                       std::chrono::steady_clock::time_point until) {
  using std::chrono::milliseconds;
  const detached_spool spool = detached_spool::open(false);
  for (milliseconds pause(1);; pause = std::min(2 * pause, milliseconds(50))) {
    const bool is_kept = spool.keeper_of(of) != 0;  // asked first: it may end in between
    if (auto outcome = spool.read(of)) return taken_result(*outcome, result_type, of);
    if (!is_kept) {
      if (!spool.is_known(of)) throw_unknown(spool, of);
      throw lost("detached task " + id_text(of) +
                 " is lost: the process that kept it was killed, or the machine was started anew; "
                 "what it printed is in '" + spool.log_of(of) + "'");
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return std::nullopt;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, until - now));
  }
}

void finish_detached(const detached_key& of) {
  const detached_spool spool = detached_spool::open(false);
  if (!spool.remove(of)) throw_unknown(spool, of);
}

}  // namespace detail
}  // namespace cppless

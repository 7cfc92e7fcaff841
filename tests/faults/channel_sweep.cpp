// SPDX-License-Identifier: Apache-2.0
// The fault sweep over channels: tasks that send and tasks that receive while workers are killed at
// random. Nobody may hang, no message may be doubled, invented, cut or overtaken, and none may be
// missing but those that a killed receiver had taken.
//
//   channel_sweep [--tasks N] [--seed S] [--workers W]
//
// In every round three tasks send, two receive and the program receives too. In every second round
// senders are started again when they are killed: they then send again what they had sent.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <cppless/cppless.hpp>

#include "command_line.hpp"
#include "killer.hpp"

using namespace std::chrono_literals;
namespace lambda = cppless::lambda;

namespace {

using once = lambda::config<lambda::with_attempts<1>>;
using often = lambda::config<lambda::with_attempts<100>>;

constexpr unsigned longest_round_s = is_sanitized ? 300 : 60;

struct message {
  int round = 0;
  int sender = 0;
  int number = 0;
  std::uint64_t check = 0;
  std::string rest;
};

/// What one receiver saw: of which sender which message.
struct seen {
  int sender = 0;
  int number = 0;
};

std::uint64_t check_of(const message& of) {
  std::uint64_t sum = static_cast<std::uint64_t>(of.round * 31 + of.sender * 7 + of.number);
  for (const char each : of.rest) sum = sum * 6364136223846793005u + static_cast<unsigned char>(each);
  return sum;
}

message make_message(int round, int sender, int number) {
  message made{round, sender, number, 0, {}};
  made.rest.assign(number % 10 == 0 ? 3000 : static_cast<std::size_t>(number % 40),
                   static_cast<char>('a' + number % 26));
  made.check = check_of(made);
  return made;
}

int send_all(const cppless::channel<message>& to, int round, int sender, int count) {
  for (int number = 0; number < count; ++number) {
    to.send(make_message(round, sender, number));
    std::this_thread::sleep_for(std::chrono::microseconds(number % 7 * 50));
  }
  return count;
}

seen look_at(const message& got, int round) {
  if (got.check != check_of(got) || got.round != round) {
    throw std::logic_error("a message that nobody sent: round " + std::to_string(got.round) +
                           ", sender " + std::to_string(got.sender));
  }
  return {got.sender, got.number};
}

std::vector<seen> receive_all(const cppless::channel<message>& from, int round) {
  std::vector<seen> all;
  while (const auto got = from.receive()) all.push_back(look_at(*got, round));
  return all;
}

int fail(const std::string& text) {
  std::cerr << "channel_sweep: " << text << std::endl;
  return 1;
}

class sweep {
 public:
  explicit sweep(const sweep_options& chosen) : options_(chosen), random_(chosen.seed) {}

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t descriptors = entries("/proc/self/fd", "");
    int kills = 0;
    int rounds = 0;
    {
      killer murderer(options_.seed, options_.workers);
      auto workers = cppless::local_dispatcher({.workers = options_.workers}).create_instance();
      for (; rounds * (senders + receivers) < options_.tasks; ++rounds) {
        ::alarm(longest_round_s);  // a hang is to fail
        run_round(workers, rounds);
      }
      ::alarm(0);
      kills = murderer.stop();
    }
    if (const std::string left = leftovers(descriptors); !left.empty()) return fail(left);
    std::cout << rounds * (senders + receivers) << " tasks: " << messages_ << " messages, "
              << lost_senders_ << " senders and " << lost_receivers_ << " receivers lost, "
              << doubled_ << " messages sent again\n"
              << kills << " workers killed, " << wrong_ << " wrong, "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()
              << " s" << std::endl;
    if (options_.tasks >= 500 && lost_senders_ + lost_receivers_ == 0) {
      return fail("no task was killed: the sweep shows nothing");
    }
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  static constexpr int senders = 3;
  static constexpr int receivers = 2;

  void run_round(cppless::instance& workers, int round) {
    const bool may_repeat = round % 2 == 1;
    const int count = 50 + static_cast<int>(random_() % 150);
    const cppless::channel<message> messages(1 + random_() % 64);
    std::vector<cppless::future<int>> sending;
    std::vector<cppless::future<std::vector<seen>>> receiving;
    for (int sender = 0; sender < senders; ++sender) {
      const auto send = [=] { return send_all(messages, round, sender, count); };
      sending.push_back(may_repeat ? cppless::async<often>(workers, send)
                                   : cppless::async<once>(workers, send));
    }
    for (int each = 0; each < receivers; ++each) {
      receiving.push_back(
          cppless::async<once>(workers, [=] { return receive_all(messages, round); }));
    }
    std::vector<std::vector<seen>> all{receive_here(messages, sending, round)};
    bool is_complete = true;  // no receiver has taken anything with it
    for (auto& each : receiving) {
      if (auto got = take(each, lost_receivers_)) {
        all.push_back(std::move(*got));
      } else {
        is_complete = false;
      }
    }
    std::vector<bool> has_sent_all;
    std::vector<bool> was_repeated;
    for (auto& each : sending) {
      was_repeated.push_back(each.statistics().attempts > 1);
      has_sent_all.push_back(take(each, lost_senders_) == count);
    }
    for (int sender = 0; sender < senders; ++sender) {
      check(all, sender, count, has_sent_all[static_cast<std::size_t>(sender)],
            was_repeated[static_cast<std::size_t>(sender)], is_complete, round);
    }
  }

  // Until nobody sends any more; then closes the channel, so that the receivers end.
  std::vector<seen> receive_here(const cppless::channel<message>& messages,
                                 const std::vector<cppless::future<int>>& sending, int round) {
    std::vector<seen> all;
    message got;
    const auto take_some = [&] {
      cppless::channel_status how = cppless::channel_status::done;
      while ((how = messages.receive_for(got, 2ms)) == cppless::channel_status::done) {
        all.push_back(look_at(got, round));
      }
      return how;
    };
    try {
      while (!std::all_of(sending.begin(), sending.end(), [](const auto& f) { return f.ready(); })) {
        take_some();
      }
      messages.close();
      while (take_some() != cppless::channel_status::closed) {
      }
    } catch (const cppless::lost&) {
      messages.close();  // all tasks have ended, and what they sent is received
    }
    return all;
  }

  template <class T>
  std::optional<T> take(cppless::future<T>& from, int& lost) {
    try {
      return from.get();
    } catch (const cppless::lost&) {
      ++lost;
    } catch (const std::exception& error) {
      wrong(error.what());
    }
    return std::nullopt;
  }

  void check(const std::vector<std::vector<seen>>& all, int sender, int count, bool has_sent_all,
             bool was_repeated, bool is_complete, int round) {
    const std::string who =
        "round " + std::to_string(round) + ", sender " + std::to_string(sender) + ": ";
    std::vector<int> times(static_cast<std::size_t>(count));
    for (const std::vector<seen>& receiver : all) {
      int last = -1;
      for (const seen& each : receiver) {
        if (each.sender != sender) continue;
        ++messages_;
        if (each.number < 0 || each.number >= count) return wrong(who + "an invented message");
        ++times[static_cast<std::size_t>(each.number)];
        if (each.number <= last && !was_repeated) wrong(who + "a message was overtaken");
        last = each.number;
      }
    }
    const int most = *std::max_element(times.begin(), times.end());
    if (most > 1 && !was_repeated) wrong(who + "a message was doubled");
    doubled_ += most > 1 ? 1 : 0;
    if (!is_complete) return;
    const auto first_missing = std::find(times.begin(), times.end(), 0);
    if (has_sent_all && first_missing != times.end()) {
      wrong(who + "message " + std::to_string(first_missing - times.begin()) + " is missing");
    }
    if (std::find_if(first_missing, times.end(), [](int n) { return n != 0; }) != times.end()) {
      wrong(who + "a message in the middle is missing");
    }
  }

  void wrong(const std::string& text) {
    if (++wrong_ <= 10) std::cerr << "channel_sweep: " << text << std::endl;
  }

  sweep_options options_;
  std::minstd_rand random_;
  int wrong_ = 0;
  int lost_senders_ = 0;
  int lost_receivers_ = 0;
  long messages_ = 0;
  int doubled_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  sweep_options chosen;
  for (int at = 1; at < argc; ++at) {
    if (!chosen.take(argc, argv, at)) {
      std::cerr << "usage: channel_sweep [--tasks N] [--seed S] [--workers W]\n";
      return 2;
    }
  }
  try {
    return sweep(chosen).run();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

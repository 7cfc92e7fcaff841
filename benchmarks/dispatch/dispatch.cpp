// SPDX-License-Identifier: Apache-2.0
/// Cost of dispatching a task and collecting its result, against the floor and the peers.

#include <algorithm>
#include <memory>
#include <optional>

#include "bare_ring.hpp"
#include "cppless_caller.hpp"
#include "fork_exec.hpp"
#include "pinned.hpp"
#include "std_async.hpp"
#include "warm_pipe.hpp"

namespace {

using bench::workload;

/// Calls per sample: what takes about 100 ms, judged by the round that is thrown away, but enough
/// to have that many in flight.
class sample_size {
 public:
  explicit sample_size(std::size_t least) : least_(least), calls_(least) {}
  std::size_t calls() const { return calls_; }
  void judge(double us_per_call) {
    if (calls_ == least_) {
      calls_ = std::clamp(static_cast<std::size_t>(100'000 / us_per_call), least_, most);
    }
  }

 private:
  static constexpr std::size_t most = 1'000'000;
  std::size_t least_, calls_;
};

template <class Caller>
bench::implementation row(const char* name, Caller& caller, bench::answer_sheet& answers,
                          const bench::payload& bytes, const workload& work, std::size_t least) {
  auto size = std::make_shared<sample_size>(least);
  return {name,
          [&, size] {
            const std::size_t calls = size->calls();
            const double result = bench::us_per_call(caller, answers, calls, work.in_flight);
            size->judge(result);
            return result;
          },
          [&] { return answers.right(bytes); }};
}

/// The same with the host on the first core: the worker is on the second.
template <class Caller>
bench::implementation pinned_row(const char* name, Caller& caller, bench::answer_sheet& answers,
                                 const bench::payload& bytes, const workload& work,
                                 std::size_t least) {
  bench::implementation unpinned = row(name, caller, answers, bytes, work, least);
  return {name,
          [measure = unpinned.measure] {
            const bench::pinned first_core(0);
            return measure();
          },
          unpinned.check};
}

void run(bench::suite& suite, const workload& work) {
  const bench::payload bytes = bench::make_payload(work.payload_bytes);
  bench::answer_sheet answers;
  const std::size_t least = work.payload_bytes >= bench::mib ? 32 : 2000;
  // The forking ones first: their workers shall not inherit threads or descriptors of the others.
  bench::bare_ring<bench::shared_ring> bare(bytes, work.in_flight, answers);
  bench::bare_ring<bench::tight_ring> tight(bytes, work.in_flight, answers);
  bench::bare_ring<bench::indexed_ring> indexed(bytes, work.in_flight, answers);
  bench::warm_pipe pipe(bytes, answers);
  bench::fork_exec process(bytes, answers);
  bench::std_async async(bytes, answers);
  // Workers run where the thread did that made their instance.
  std::optional<bench::pinned> second_core(1);
  bench::cppless_caller one_worker(1, bytes, answers);
  second_core.reset();
  bench::cppless_caller two_workers(2, bytes, answers);
  std::vector<bench::implementation> rows = {
      pinned_row("bare ring", bare, answers, bytes, work, least),
      pinned_row("tight ring, 1 to 1", tight, answers, bytes, work, least),
      pinned_row("indexed ring, 1 to 1", indexed, answers, bytes, work, least),
      pinned_row("cppless, 1 worker", one_worker, answers, bytes, work, least),
      row("cppless, 2 workers, not pinned", two_workers, answers, bytes, work, least),
      row("warm process, pipe", pipe, answers, bytes, work, least),
      row("std::async", async, answers, bytes, work, least)};
  if (work.payload_bytes == 0 || work.in_flight < 1024) {  // seconds per repetition otherwise
    rows.push_back(row("fork+exec per task", process, answers, bytes, work,
                       std::max<std::size_t>(32, work.in_flight)));
  }
  suite.compare(work.name, bench::unit::us_per_call, "bare ring", std::move(rows));
}

}  // namespace

int main(int argc, char** argv) {
  bench::suite suite("dispatch", argc, argv);
  for (const workload& work : bench::workloads) {
    if (suite.wants(work.name)) {
      run(suite, work);
    }
  }
  return suite.finish();
}

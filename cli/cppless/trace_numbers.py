# SPDX-License-Identifier: Apache-2.0
"""From the tasks of a trace to the numbers that the summary and the page show. All times are in ns."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import Iterable, Sequence

from .cost import Bill
from .trace_file import Trace

DEFAULT_MEMORY_MB = 1024  # of functions whose tasks do not say, as `cppless deploy` has it
MOST_STRAGGLERS = 15
STRAGGLES = 2.0  # times the median of its kind
PHASES = ("encode", "queue", "send", "run", "receive", "decode", "total")
HISTOGRAM_STEPS = 10  # to a factor of ten


@dataclass(frozen=True)
class Spread:
    """Of one phase over all tasks that had it."""

    count: int
    sum: int
    median: int
    p90: int
    p99: int
    most: int


@dataclass(frozen=True)
class Straggler:
    at: int  # which task of the trace
    times_median: float


class Numbers:
    def __init__(self, trace: Trace) -> None:
        columns = trace.columns
        self.tasks = len(trace)
        self.outcomes = Counter({trace.outcomes.texts[number]: count
                                 for number, count in Counter(trace.outcome).items()})
        self.failed = self.tasks - self.outcomes["ok"]
        self.retries = sum(attempts - 1 for attempts in columns["attempts"] if attempts > 1)
        self.cold_starts = sum(columns["cold"])
        self.sent_bytes, self.received_bytes = sum(columns["sent_bytes"]), sum(columns["received_bytes"])
        self.begin = min(columns["created"], default=0)
        self.end = max(columns["settled"], default=0)
        self.wall = self.end - self.begin
        self.work = sum(columns["run_ns"]) - sum(columns["waited_ns"])
        self.places = len(set(zip(columns["process"], columns["thread"])) - {(0, 0)})
        self.workers = self._workers(trace)
        # Of several instances it would say nothing: one may wait while another works.
        self.ideal = self.work / self.workers if self.workers and len(set(trace.instance)) == 1 else 0.0
        self.makespan = self._makespan(trace)
        self.phases = {name: spread(phase(trace, name)) for name in PHASES}
        self.stragglers = stragglers(trace)
        self.bill = bill(trace)

    def _workers(self, trace: Trace) -> int:
        """Where tasks ran; not counted twice what took the place of a worker that died or waited."""
        used = set(trace.instance)
        return min(self.places, sum(trace.workers.get(number, self.places) for number in used))

    @staticmethod
    def _makespan(trace: Trace) -> int:
        ran = [(start, end) for start, end in zip(trace.columns["started"], trace.columns["ended"]) if start]
        return max(end for _, end in ran) - min(start for start, _ in ran) if ran else 0

    @property
    def at_once(self) -> float:
        return self.work / self.wall if self.wall else 0.0

    @property
    def over_ideal(self) -> float:
        return self.makespan / self.ideal if self.ideal else 0.0


def phase(trace: Trace, name: str) -> Sequence[int]:
    """The times of the tasks that had this phase."""
    columns = trace.columns
    if name in ("encode", "total"):
        return columns[f"{name}_ns"]
    if name == "decode":
        return array("q", (end - begin for begin, end in zip(columns["received"], columns["settled"])))
    if name == "receive":
        return array("q", (max(0, received - ended) for started, ended, received
                           in zip(columns["started"], columns["ended"], columns["received"]) if started))
    return array("q", (time for time, started in zip(columns[f"{name}_ns"], columns["started"]) if started))


def spread(times: Sequence[int]) -> Spread:
    ordered = sorted(times)
    return Spread(len(ordered), sum(ordered), *(rank(ordered, share) for share in (0.5, 0.9, 0.99, 1.0)))


def rank(ordered: Sequence[int], share: float) -> int:
    """The smallest value that so many are not above."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0


def stragglers(trace: Trace) -> list[Straggler]:
    """The tasks that took much longer than half of their kind, longest first. What they waited for
    tasks of their own does not count."""
    own = array("q", (run - waited for run, waited in zip(trace.columns["run_ns"], trace.columns["waited_ns"])))
    runs: dict[int, list[int]] = {}
    for kind, time, started in zip(trace.name, own, trace.columns["started"]):
        if started:
            runs.setdefault(kind, []).append(time)
    medians = {kind: rank(sorted(times), 0.5) for kind, times in runs.items()}
    found = [(time, at) for at, (kind, time) in enumerate(zip(trace.name, own))
             if time > STRAGGLES * medians.get(kind, time)]
    return [Straggler(at, time / max(1, medians[trace.name[at]]))
            for time, at in sorted(found, reverse=True)[:MOST_STRAGGLERS]]


def bill(trace: Trace) -> Bill:
    """What AWS would bill for the runs, wherever they ran: each whole millisecond that was begun."""
    total = Bill()
    default = DEFAULT_MEMORY_MB << 20
    for started, run, memory in zip(trace.columns["started"], trace.columns["run_ns"],
                                    trace.columns["memory_limit"]):
        if not started:
            continue
        milliseconds = max(1, -(-run // 1_000_000))
        total.requests += 1
        total.billed_ms += milliseconds
        total.gb_seconds += (memory or default) / (1 << 30) * milliseconds / 1000
    total.requests += trace.lost_tries
    return total


def histogram(times: Iterable[int]) -> dict[int, int]:
    """How many lie in [10^(k/10), 10^((k+1)/10)) ns, for each k where there are any."""
    steps = Counter(math.floor(math.log10(max(1, time)) * HISTOGRAM_STEPS) for time in times)
    return dict(sorted(steps.items()))


def at_once(begins: Sequence[int], ends: Sequence[int], first: int, last: int, buckets: int) -> list[float]:
    """How many spans there were on average in each of `buckets` equal parts of the time."""
    width = max(1.0, (last - first) / buckets)
    partial, steps = [0.0] * (buckets + 1), [0] * (buckets + 2)
    for begin, end in zip(begins, ends):
        if end <= begin:
            continue
        left, right = (begin - first) / width, (end - first) / width
        in_left, in_right = min(buckets, int(left)), min(buckets, int(right))
        if in_left == in_right:
            partial[in_left] += right - left
        else:
            partial[in_left] += in_left + 1 - left
            partial[in_right] += right - in_right
            steps[in_left + 1] += 1
            steps[in_right] -= 1
    whole, result = 0, []
    for bucket in range(buckets):
        whole += steps[bucket]
        result.append(partial[bucket] + whole)
    return result

# SPDX-License-Identifier: Apache-2.0
"""`cppless trace`: what a traced run did, in the terminal and as a page."""

from __future__ import annotations

import argparse
import datetime
from typing import Iterator

from . import trace_file
from .cost import dollars
from .progress import Progress
from .summary import count, duration
from .trace_file import Trace
from .trace_numbers import Numbers


def trace_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    trace = trace_file.read(options.file)
    numbers = Numbers(trace)
    if trace.damaged:
        progress.say(f"{count(trace.damaged, 'line')} of {options.file} cannot be understood and "
                     f"{'is' if trace.damaged == 1 else 'are'} left out")
    if not trace.is_whole:
        progress.say(f"{options.file} has no end: its program was killed or is still running; "
                     f"tasks that had ended by then are here")
    print("\n".join(summary(trace, numbers)))
    if options.html:
        from .trace_page import write

        write(options.html, trace, numbers)
        progress.say(f"wrote {options.html}")
    return 0


def summary(trace: Trace, numbers: Numbers) -> Iterator[str]:
    began = datetime.datetime.fromtimestamp(trace.began_ns / 1e9).strftime("%Y-%m-%d %H:%M:%S")
    yield f"{trace.program}, {began}: {said(numbers)}"
    if numbers.tasks == 0:
        return
    yield f"workers     {workers(numbers)}"
    yield ""
    yield f"{'':10}{'sum':>10}{'median':>10}{'90 %':>10}{'99 %':>10}{'longest':>10}"
    for name, times in numbers.phases.items():
        row = (times.sum, times.median, times.p90, times.p99, times.most)
        yield f"{name:10}" + "".join(f"{duration(time):>10}" for time in row)
    yield ""
    yield f"bytes       {size(numbers.sent_bytes)} sent, {size(numbers.received_bytes)} received"
    yield f"cost        {cost(numbers)}"
    for straggler in numbers.stragglers[:3]:
        at = straggler.at
        ran = trace.columns["run_ns"][at] - trace.columns["waited_ns"][at]
        yield (f"straggler   task {trace.task(at)} ran {duration(ran)}, "
               f"{straggler.times_median:.1f} times the median: {trace.names.texts[trace.name[at]]}")
    for at, text in list(trace.failures.items())[:3]:
        yield f"failed      task {trace.task(at)}: {text}"
    for lost in trace.tries[:3]:
        yield f"tried again task {lost.task}: {lost.error}"


def said(numbers: Numbers) -> str:
    if numbers.tasks == 0:
        return "no tasks"
    text = f"{count(numbers.tasks, 'task')} in {duration(numbers.wall)}"
    failed = ", ".join(f"{number} {outcome}" for outcome, number in sorted(numbers.outcomes.items())
                       if outcome != "ok" and number)
    text += f", {numbers.failed:,} failed ({failed})" if failed else ", none failed"
    return f"{text}, {count(numbers.retries, 'retry', 'retries')}"


def workers(numbers: Numbers) -> str:
    text = (f"{count(numbers.workers, 'worker')}, {duration(numbers.work)} in tasks, "
            f"{numbers.at_once:.2f} at once on average")
    if numbers.ideal:
        text += f"; first to last run took {numbers.over_ideal:.2f} times the ideal"
    return text


def cost(numbers: Numbers) -> str:
    bill = numbers.bill
    return (f"about {dollars(bill.dollars)} on AWS Lambda ({count(bill.requests, 'request')}, "
            f"{bill.gb_seconds:,.3f} GB-s, {bill.architecture})")


def size(amount: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return ""

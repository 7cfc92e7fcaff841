# SPDX-License-Identifier: Apache-2.0
"""The page of a trace: one file that needs nothing from elsewhere."""

from __future__ import annotations

import datetime
import html
import json
import os
from pathlib import Path
from typing import Any, Iterable, Sequence

from . import trace as words
from .cost import PRICES_OF
from .problem import Problem
from .summary import duration
from .trace_file import Trace
from .trace_numbers import Numbers, at_once, histogram

TEMPLATE = Path(__file__).with_name("trace_page.html")
MOST_DRAWN = 20_000  # tasks drawn one by one; of more, the longest, and how busy each worker was
BUCKETS = 600
MOST_ROWS = 100


def write(path: str, trace: Trace, numbers: Numbers) -> None:
    text = page(trace, numbers)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        Path(partial).write_text(text, "utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise Problem(f"cannot write {path} ({error.strerror})") from error


def page(trace: Trace, numbers: Numbers) -> str:
    # "<" would end the script if a task's name had it.
    data = json.dumps(drawing(trace, numbers), separators=(",", ":")).replace("<", "\\u003c")
    began = datetime.datetime.fromtimestamp(trace.began_ns / 1e9).strftime("%Y-%m-%d %H:%M:%S")
    parts = {"title": html.escape(trace.program), "began": began, "said": html.escape(words.said(numbers)),
             "tiles": tiles(numbers), "phases": phases(numbers), "stragglers": stragglers(trace, numbers),
             "failures": failures(trace), "tries": tries(trace),
             "note": "" if trace.is_whole else "The trace has no end: its program was killed or was still running.",
             "cost": html.escape(f"{words.cost(numbers)}; each run at the memory its task asks for, else 1,024 MB, "
                                 f"prices of {PRICES_OF}, without free tier, starts and logs."),
             "data": data}
    text = TEMPLATE.read_text("utf-8")
    for name, value in parts.items():
        text = text.replace(f"<!--{name}-->", value)
    return text


def tiles(numbers: Numbers) -> str:
    rows = (("tasks", numbers.tasks, f"{numbers.tasks:,}"), ("failed", numbers.failed, f"{numbers.failed:,}"),
            ("retries", numbers.retries, f"{numbers.retries:,}"), ("wall", numbers.wall, duration(numbers.wall)),
            ("in tasks", numbers.work, duration(numbers.work)), ("workers", numbers.workers, f"{numbers.workers:,}"),
            ("at once", round(numbers.at_once, 6), f"{numbers.at_once:.2f}"),
            ("over ideal", round(numbers.over_ideal, 6), f"{numbers.over_ideal:.2f}x"),
            ("cold starts", numbers.cold_starts, f"{numbers.cold_starts:,}"),
            ("sent", numbers.sent_bytes, words.size(numbers.sent_bytes)),
            ("received", numbers.received_bytes, words.size(numbers.received_bytes)))
    return "".join(f'<div><b id="{name.replace(" ", "-")}" data-value="{value}">{text}</b>{name}</div>'
                   for name, value, text in rows)


def table(rows: Iterable[Sequence[str]]) -> str:
    cells = ["<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) + "</tr>" for row in rows]
    return "".join(cells) or "<tr><td>none</tr>"


def phases(numbers: Numbers) -> str:
    rows = []
    for name, times in numbers.phases.items():
        values = (times.sum, times.median, times.p90, times.p99, times.most)
        cells = "".join(f'<td data-value="{value}">{duration(value)}' for value in values)
        rows.append(f'<tr id="phase-{name}"><td>{name}{cells}</tr>')
    return "".join(rows)


def stragglers(trace: Trace, numbers: Numbers) -> str:
    return table((trace.task(each.at), trace.names.texts[trace.name[each.at]],
                  duration(trace.columns["run_ns"][each.at] - trace.columns["waited_ns"][each.at]),
                  f"{each.times_median:.1f}x",
                  worker_name(trace, trace.columns["process"][each.at]),
                  duration(trace.columns["started"][each.at])) for each in numbers.stragglers)


def failures(trace: Trace) -> str:
    return table((trace.task(at), trace.names.texts[trace.name[at]], trace.outcomes.texts[trace.outcome[at]], text)
                 for at, text in list(trace.failures.items())[:MOST_ROWS])


def tries(trace: Trace) -> str:
    return table((each.task, each.name, str(each.attempt), worker_name(trace, each.process),
                  duration(each.ended - each.began), each.error) for each in trace.tries[:MOST_ROWS])


def worker_name(trace: Trace, process: int) -> str:
    name = trace.processes.get(process, "process")
    return f"{name} ({process})" if process < 10_000_000 else name


def drawing(trace: Trace, numbers: Numbers) -> dict[str, Any]:
    """What the page's script draws: times in ns since the first task was made."""
    columns, first = trace.columns, numbers.begin
    lanes = sorted({(process, thread) for process, thread in zip(columns["process"], columns["thread"]) if process})
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    lane = [lane_of.get(place, -1) for place in zip(columns["process"], columns["thread"])]
    drawn = list(range(len(trace)))
    if len(drawn) > MOST_DRAWN:
        drawn = sorted(sorted(drawn, key=columns["run_ns"].__getitem__, reverse=True)[:MOST_DRAWN // 10])
    ends = [started or settled for started, settled in zip(columns["started"], columns["settled"])]
    result = {
        "wall": numbers.wall, "tasks": len(trace), "names": trace.names.texts, "outcomes": trace.outcomes.texts,
        "lanes": [lane_name(trace, *each) for each in lanes],
        "drawn": {"task": [trace.task(at) for at in drawn], "lane": [lane[at] for at in drawn],
                  "start": [max(0, columns["started"][at] - first) for at in drawn],
                  "length": [columns["ended"][at] - columns["started"][at] for at in drawn],
                  "name": [trace.name[at] for at in drawn], "outcome": [trace.outcome[at] for at in drawn],
                  **{name: [columns[f"{name}_ns"][at] for at in drawn] for name in ("run", "queue", "total")},
                  "attempts": [columns["attempts"][at] for at in drawn]},
        "tries": [[lane_of.get((each.process, each.process), -1), each.began - first, each.ended - each.began]
                  for each in trace.tries],
        "running": rounded(at_once(columns["started"], columns["ended"], first, numbers.end, BUCKETS)),
        "waiting": rounded(at_once(columns["submitted"], ends, first, numbers.end, BUCKETS)),
        "histogram": {name: histogram(columns[f"{name}_ns"]) for name in ("total", "run")},
    }
    if len(drawn) != len(trace):
        result["busy"] = busy(trace, lane, len(lanes), first, numbers.end)
    return result


def busy(trace: Trace, lane: Sequence[int], lanes: int, first: int, last: int) -> list[list[float]]:
    """For each lane, the share of each part of the time in which it ran something."""
    begins: list[list[int]] = [[] for _ in range(lanes)]
    ends: list[list[int]] = [[] for _ in range(lanes)]
    for number, begin, end in zip(lane, trace.columns["started"], trace.columns["ended"]):
        if number >= 0:
            begins[number].append(begin)
            ends[number].append(end)
    return [[min(1.0, share) for share in rounded(at_once(*each, first, last, BUCKETS))] for each in zip(begins, ends)]


def rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 3) for value in values]


def lane_name(trace: Trace, process: int, thread: int) -> str:
    name = worker_name(trace, process)
    return f"{name} {thread}" if process >= 10_000_000 else name

# SPDX-License-Identifier: Apache-2.0
"""Reads what a program wrote to the file CPPLESS_TRACE names (docs/formats/trace.md), line by line."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from .problem import Problem

FORMAT = 1
MOST_DETAILS = 1000  # failures and lost tries that are kept with their texts

# Numbers of each task, in nanoseconds and bytes. Times of day are since the trace began.
NUMBERS = ("attempts", "cold", "process", "thread", "created", "submitted", "started", "ended", "received",
           "settled", "encode_ns", "queue_ns", "send_ns", "run_ns", "waited_ns", "total_ns", "sent_bytes",
           "received_bytes", "peak_memory", "memory_limit")


@dataclass(frozen=True)
class LostTry:
    """A try of a task that came to nothing and was made again."""

    task: str
    name: str
    attempt: int
    outcome: str
    error: str
    process: int
    began: int
    ended: int


@dataclass
class Names:
    """Texts that many tasks share, by number."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        known = self.numbers.get(text)
        if known is None:
            known = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return known


class Trace:
    """A column for each number; the tasks are in the order in which they ended."""

    def __init__(self) -> None:
        self.program = ""
        self.began_ns = 0  # since 1970
        self.columns: dict[str, array[int]] = {name: array("q") for name in NUMBERS}
        self.instance, self.id = array("q"), array("q")
        self.name, self.outcome, self.dispatcher = array("l"), array("l"), array("l")
        self.names, self.outcomes, self.dispatchers = Names(), Names(), Names()
        self.processes: dict[int, str] = {}
        self.workers: dict[int, int] = {}  # of each instance that knows how many it has
        self.failures: dict[int, str] = {}  # of the first tasks that failed: what they said
        self.tries: list[LostTry] = []
        self.lost_tries = 0
        self.damaged = 0  # lines that cannot be understood
        self.is_whole = False  # the program came to write the end

    def __len__(self) -> int:
        return len(self.id)

    def task(self, at: int) -> str:
        return f"{self.instance[at]}.{self.id[at]}"

    def add_task(self, about: dict[str, Any]) -> None:
        instance, id_ = about["task"].split(".")
        row = [about[name] for name in NUMBERS]
        if not all(type(value) is int and 0 <= value < 1 << 62 for value in row):
            raise ValueError
        self.instance.append(int(instance))
        try:
            self.id.append(int(id_))
        except ValueError:
            self.instance.pop()
            raise
        for name, value in zip(NUMBERS, row):
            self.columns[name].append(value)
        self.name.append(self.names.number(str(about["name"])))
        self.outcome.append(self.outcomes.number(str(about["outcome"])))
        self.dispatcher.append(self.dispatchers.number(str(about["dispatcher"])))
        if "error" in about and len(self.failures) < MOST_DETAILS:
            self.failures[len(self) - 1] = str(about["error"])

    def add_try(self, event: dict[str, Any]) -> None:
        about = event["args"]
        lost = LostTry(str(about["task"]), str(about["name"]), int(about["attempt"]), str(event["name"]),
                       str(about["error"]), int(event["pid"]), int(about["began"]), int(about["ended"]))
        self.lost_tries += 1
        if len(self.tries) < MOST_DETAILS:
            self.tries.append(lost)


def read(path: str) -> Trace:
    """Throws Problem where there is nothing that a cppless program wrote."""
    try:
        with open(path, "rb") as file:
            return _read(file, path)
    except OSError as error:
        raise Problem(f"cannot read {path} ({error.strerror})") from error


def _read(file: BinaryIO, path: str) -> Trace:
    trace = Trace()
    if file.readline(64).strip() != b"[" or not _take_head(trace, file.readline(1 << 16)):
        raise Problem(f"{path} is not a trace that a cppless program wrote",
                      "run one with CPPLESS_TRACE=FILE in its environment")
    for line in file:
        # Most lines are for viewers; what is needed of a task is in one line.
        if line.startswith(b'{"cat":"task"'):
            kind = "task"
        elif line.startswith(b'{"cat":"try"'):
            kind = "try"
        elif line.startswith(b'{"cat":"cppless"'):
            kind = "cppless"
        elif line.startswith((b'{"cat":"', b"]")) and line.endswith(b"\n"):
            continue
        else:
            trace.damaged += 1
            continue
        try:
            _take(trace, kind, _parsed(line))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            trace.damaged += 1
    return trace


def _parsed(line: bytes) -> dict[str, Any]:
    event = json.loads(line.rstrip().rstrip(b","))
    if not isinstance(event, dict):
        raise ValueError
    return event


def _take_head(trace: Trace, line: bytes) -> bool:
    try:
        event = _parsed(line)
        about = event["args"]
        if event["name"] != "trace begins":
            return False
        known = int(about["format"])
        trace.program, trace.began_ns = str(about["program"]), int(about["began_ns"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    if known != FORMAT:
        raise Problem(f"the trace has format {known}, this command knows format {FORMAT}",
                      "use the cppless that the program was built with")
    return True


def _take(trace: Trace, kind: str, event: dict[str, Any]) -> None:
    if kind == "task":
        trace.add_task(event["args"])
    elif kind == "try":
        trace.add_try(event)
    elif event["name"] == "process_name":
        trace.processes[int(event["pid"])] = str(event["args"]["name"])
    elif event["name"] == "instance":
        trace.workers[int(event["args"]["instance"])] = int(event["args"]["workers"])
    elif event["name"] == "trace ends":
        trace.is_whole = True

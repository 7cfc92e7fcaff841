# SPDX-License-Identifier: Apache-2.0
"""What functions write: CloudWatch Logs, read in order and without repeats, once or as it comes."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from .cloud import Cloud, code, errors, said
from .problem import Problem

PLATFORM_LINE = re.compile(r"(START|END|REPORT|INIT_REPORT|INIT_START|INIT_END) ?")
POLL_SECONDS = 1.0
SETTLE_SECONDS = 0.3
OVERLAP_MS = 20_000  # events may arrive late: so much is read again each time
MOST_REMEMBERED = 100_000


@dataclass(frozen=True)
class Event:
    time_ms: int
    function: str
    text: str

    @property
    def is_platforms(self) -> bool:
        """Of Lambda itself and not printed by the function."""
        return PLATFORM_LINE.match(self.text) is not None


class Reader:
    """Reads the events of some functions from `since_ms` (since 1970) on; each is given out once."""

    def __init__(self, cloud: Cloud, functions: Sequence[str], since_ms: int) -> None:
        self._cloud = cloud
        self._since = {name: since_ms for name in functions}
        self._first = since_ms
        self._seen: dict[str, None] = {}  # in order, so that the oldest can be forgotten
        self._files = local_logs(cloud)
        is_now = since_ms > (time.time() - 5) * 1000
        self._places = {name: size_of(self._files, name) if is_now else 0 for name in functions}

    def poll(self) -> list[Event]:
        read = self._read if self._files is None else self._read_file
        events = [event for name in self._since for event in read(name)]
        for known in list(self._seen)[:max(0, len(self._seen) - MOST_REMEMBERED)]:
            del self._seen[known]
        return sorted(events, key=lambda event: event.time_ms)

    def _read_file(self, name: str) -> Iterator[Event]:
        """The local cloud's own file. Its lines have no times: they count as of now."""
        assert self._files is not None
        try:
            with open(self._files / f"{name}.log", "rb") as file:
                file.seek(self._places[name])
                data = file.read()
        except FileNotFoundError:
            return
        whole = data.rfind(b"\n") + 1
        self._places[name] += whole
        now = int(time.time() * 1000)
        for line in data[:whole].decode("utf-8", "replace").splitlines():
            yield Event(now, name, line)

    def _read(self, name: str) -> Iterator[Event]:
        client = self._cloud.client("logs")
        request: dict[str, Any] = {"logGroupName": f"/aws/lambda/{name}",
                                   "startTime": max(self._first, self._since[name] - OVERLAP_MS)}
        try:
            while True:
                page = client.filter_log_events(**request)
                for found in page.get("events", []):
                    if found["eventId"] not in self._seen:
                        self._seen[found["eventId"]] = None
                        self._since[name] = max(self._since[name], found["timestamp"])
                        yield Event(found["timestamp"], name, found["message"].rstrip("\n"))
                if not page.get("nextToken"):
                    return
                request["nextToken"] = page["nextToken"]
        except errors() as error:
            if code(error) != "ResourceNotFoundException":  # nothing ran yet
                raise Problem(f"cannot read the log of {name}: {said(error)}",
                              "the permission logs:FilterLogEvents is needed") from error


def local_logs(cloud: Cloud) -> Path | None:
    """Where our own local cloud keeps what functions print: at once, while CloudWatch Logs lag."""
    if not cloud.is_local:
        return None
    try:
        from . import platform
    except ImportError:
        return None
    state = platform.state_directory()
    found = platform.running(state)
    return state / "logs" if found and found.endpoint == cloud.endpoint_of("lambda") else None


def size_of(directory: Path | None, name: str) -> int:
    try:
        return os.path.getsize(directory / f"{name}.log") if directory else 0
    except OSError:
        return 0


def show(cloud: Cloud, functions: Sequence[str], since_ms: int, follow: bool) -> None:
    """Prints events to standard output, with `follow` until interrupted."""
    reader = Reader(cloud, functions, since_ms)
    while True:
        for event in reader.poll():
            prefix = f"{event.function}  " if len(functions) > 1 else ""
            moment = time.strftime("%H:%M:%S", time.localtime(event.time_ms / 1000))
            print(f"{moment}.{event.time_ms % 1000:03}  {prefix}{event.text}")
        sys.stdout.flush()
        if not follow:
            return
        time.sleep(POLL_SECONDS)


class Stream:
    """While a program runs: its functions' output to standard error, their REPORT lines kept."""

    def __init__(self, cloud: Cloud, functions: Sequence[str], since_ms: int) -> None:
        self._reader = Reader(cloud, functions, since_ms)
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._started = 0
        self.reports: list[str] = []
        self.problem: Problem | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(POLL_SECONDS):
            self._take()

    def _take(self) -> None:
        with self._lock:
            try:
                events: Iterable[Event] = self._reader.poll()
            except Problem as problem:  # the run goes on without
                self.problem = problem
                self._end.set()
                return
        for event in events:
            if event.text.startswith("START "):
                self._started += 1
            elif event.text.startswith("REPORT "):
                self.reports.append(event.text)
            elif not event.is_platforms:
                print(f"[{event.function}] {event.text}", file=sys.stderr, flush=True)

    def finish(self, expected: int, seconds: float) -> None:
        """Waits until at least as many reports came and nothing more comes, or that long: logs lag
        behind, on AWS for seconds, and tasks that tasks dispatched are not among the expected."""
        self._end.set()
        self._thread.join()
        limit = time.monotonic() + seconds
        while self.problem is None:
            before = len(self.reports)
            self._take()
            is_whole = len(self.reports) >= max(expected, self._started)
            if (is_whole and len(self.reports) == before) or time.monotonic() > limit:
                return
            time.sleep(SETTLE_SECONDS)

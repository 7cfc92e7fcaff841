# SPDX-License-Identifier: Apache-2.0
"""Compile (or take from the cache), run, summarise."""

from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import summary, toolchain
from .build import Program, build
from .process import Child
from .progress import Progress


@dataclass(frozen=True)
class Request:
    """What `cppless run` was asked to do."""

    source: str
    arguments: list[str]
    workers: int | None = None
    dispatcher: str | None = None


def run(request: Request, progress: Progress) -> int:
    if request.dispatcher == "lambda":
        from .serverless import run_on_lambda

        return run_on_lambda(request, progress)
    tools = toolchain.ensure(progress)
    program = build(request.source, tools, progress)
    with Run(program, request, progress) as running:
        running.child.wait()
        return running.finish()


class Run:
    """A running program; leaving the `with` block ends it and removes its summary file."""

    def __init__(self, program: Program, request: Request, progress: Progress) -> None:
        self._name = Path(request.source).name
        self._progress = progress
        handle, path = tempfile.mkstemp(prefix="cppless-summary-", suffix=".json")
        os.close(handle)
        self._summary = Path(path)
        self.values: dict[str, int] | None = None  # what the library counted, once it ended
        self.child = Child(str(program.executable), request.arguments,
                           environment(request, self._summary))

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.child.stop()
        self.child.close()
        self._summary.unlink(missing_ok=True)

    def finish(self) -> int:
        """Says how it went; the exit status of the whole command."""
        status = self.child.status or 0
        self.values = values = summary.read(self._summary)
        if values is not None:
            self._progress.say(summary.line(values))
        if self.child.received is not None:
            return 128 + self.child.received
        if status > 128 and status - 128 in signal.valid_signals() and values is None:
            self._progress.say(f"{self._name} was ended by {signal.Signals(status - 128).name}")
        return status


def environment(request: Request, summary_file: Path) -> dict[str, str]:
    """The caller's environment plus what the library reads at its start."""
    values = {name: value for name, value in os.environ.items() if name != "CPPLESS_APT_IS_FRESH"}
    values["CPPLESS_SUMMARY"] = str(summary_file)
    if request.workers is not None:
        values["CPPLESS_WORKERS"] = str(request.workers)
    if request.dispatcher is not None:
        values["CPPLESS_DISPATCHER"] = request.dispatcher
    return values

# SPDX-License-Identifier: Apache-2.0
"""Compile and run again whenever the source or something it includes changes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Iterable

from . import toolchain
from .build import CLOCK_STEP_NS, Program, build, scan
from .problem import Problem, Quit
from .progress import Progress
from .run import Request, Run

POLL_SECONDS = 0.3


class Files:
    """Tells whether one of `paths` has changed after `since` (in ns, as time.time_ns() gives it).

    Their times are looked at first and compared later: a change made while the compiler was reading
    counts too. A time in the future tells nothing; waiting for it would never end.
    """

    def __init__(self, paths: Iterable[Path], since: int) -> None:
        self._stamps = {path: self._stamp(path) for path in paths}
        now = time.time_ns()
        self._late = [path for path, stamp in self._stamps.items()
                      if stamp is not None and since - CLOCK_STEP_NS <= stamp[0] <= now]

    def changed(self) -> Path | None:
        if self._late:
            return self._late[0]
        return next((path for path, stamp in self._stamps.items() if self._stamp(path) != stamp), None)

    @staticmethod
    def _stamp(path: Path) -> tuple[int, int, int] | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def watch(request: Request, progress: Progress) -> int:
    """Until interrupted; then 128 + signal, as for a single run."""
    while True:
        tools = toolchain.ensure(progress)
        started = time.time_ns()
        program = _try_build(request.source, tools, progress)
        files = Files(program.dependencies if program else scan(request.source, tools), started)
        changed = files.changed()
        if changed is None:
            status = _run(program, request, files, progress) if program else None
            if status is not None:
                return status
            changed = _wait_for_change(files)
        progress.say(f"{changed} changed")


def _try_build(source: str, tools: toolchain.Toolchain, progress: Progress) -> Program | None:
    try:
        return build(source, tools, progress)
    except Problem as problem:  # e.g. the editor is just replacing the file
        progress.say(f"error: {problem}")
    except Quit as quit_:
        if quit_.status != 1:
            raise
    return None


def _run(program: Program, request: Request, files: Files, progress: Progress) -> int | None:
    """Until the program ends or a file changes; a status if we are to end."""
    with Run(program, request, progress) as running:
        while files.changed() is None:
            if running.child.wait(POLL_SECONDS) is not None:
                status = running.finish()
                if running.child.received is not None:
                    return status
                progress.say(f"exit status {status}; waiting for a change (Ctrl-C ends)")
                return None
    return None


def _wait_for_change(files: Files) -> Path:
    while True:
        changed = files.changed()
        if changed is not None:
            return changed
        time.sleep(POLL_SECONDS)

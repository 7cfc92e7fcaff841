# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import Iterator


class Progress:
    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._live = sys.stderr.isatty() and not verbose

    def say(self, text: str) -> None:
        if not self._quiet:
            self._write(f"cppless: {text}\n")

    def command(self, words: list[str]) -> None:
        if self._verbose:
            import shlex

            self._write(f"+ {shlex.join(words)}\n")

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Says that `what` is going on and, once it went well, how long it took."""
        if self._quiet:
            yield
            return
        started = time.monotonic()
        if not self._live:
            self._write(f"cppless: {what} ...\n")
            yield
            self._write(f"cppless: {what}: done in {time.monotonic() - started:.1f} s\n")
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(what, started, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            self._write("\r\x1b[K")
        self._write(f"cppless: {what}: {time.monotonic() - started:.1f} s\n")

    def _tick(self, what: str, started: float, done: threading.Event) -> None:
        while not done.wait(0.1):
            self._write(f"\r\x1b[Kcppless: {what} ... {time.monotonic() - started:.1f} s")

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()

# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: a directory of their own and the cache of all tests."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Callable, Mapping

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "cppless"

# A shell's background jobs ignore Ctrl-C, what nohup starts ignores hang-ups, and so would all that
# they start: not what is tested here.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def without_aws(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of somebody who has no account: what this machine is set to must not matter."""
    return {**{name: value for name, value in environment.items() if not name.startswith("AWS_")},
            "AWS_EC2_METADATA_DISABLED": "true"}


class CommandTest(unittest.TestCase):
    """Runs ./cppless in an empty directory. The toolchain is built once for all tests and runs."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="cppless test ")  # with a space, on purpose
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name).resolve()
        self.temporary = self.directory / "tmp"
        self.temporary.mkdir()
        self.environment = {**without_aws(os.environ), "XDG_CACHE_HOME": str(ROOT / "build" / "cli-cache"),
                            "TMPDIR": str(self.temporary)}
        for name in ("CXXFLAGS", "LDFLAGS", "CPPLESS_WORKERS", "CPPLESS_DISPATCHER", "CPPLESS_SUMMARY"):
            self.environment.pop(name, None)

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text, "utf-8")
        return path

    def cppless(self, *words: str, text_in: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(COMMAND), *words], cwd=self.directory, env=self.environment, text=True,
                              input=text_in, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Output goes to files `out` and `err`; the process ends with the test."""
        with open(self.directory / "out", "w") as out, open(self.directory / "err", "w") as err:
            process = subprocess.Popen([str(COMMAND), *words], cwd=self.directory, env=self.environment,
                                       text=True, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def out(self) -> str:
        return (self.directory / "out").read_text("utf-8")

    def err(self) -> str:
        return (self.directory / "err").read_text("utf-8")

    def eventually(self, condition: Callable[[], bool], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.fail(f"did not happen within {seconds} s; out: {self.out()} err: {self.err()}")
            time.sleep(0.05)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gdb/cppless_fibers.py on a program with parked fibers, and on its core.

    gdb_test.py PROGRAM      exit code 77: skipped, with the reason
"""

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "gdb" / "cppless_fibers.py"
COMMANDS = ["cppless fibers", "echo --bt--\\n", "cppless fibers bt", "echo --one--\\n", "cppless fiber 2 bt",
            "echo --moved--\\n", "cppless fiber 2", "bt", "echo --back--\\n", "cppless fiber none", "bt",
            "echo --wrong--\\n", "cppless fiber 99"]
program = ""


def gdb(*words: str, commands: list[str]) -> str:
    arguments = [word for command in commands for word in ("-ex", command)]
    return subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", *arguments, *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False).stdout


def core_of(directory: str) -> str:
    """The core of a run that ends with SIGABRT; none if the kernel leaves none there."""
    def allow_cores() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    subprocess.run([program, "abort"], cwd=directory, preexec_fn=allow_cores, stderr=subprocess.DEVNULL, timeout=60,
                   check=False)
    return next(map(str, Path(directory).glob("core*")), "")


class Fibers(unittest.TestCase):
    """One run of gdb for all tests, as each start takes its time."""

    @classmethod
    def setUpClass(cls) -> None:
        source = f"source {SCRIPT}"
        running = gdb(program, commands=["break all_are_parked", "run", source, *COMMANDS])
        if "hit Breakpoint" not in running:
            print(f"SKIPPED: gdb cannot run a program here: {running}")
            sys.exit(77)
        cls.texts = {"running": running}
        with tempfile.TemporaryDirectory() as directory:
            if core := core_of(directory):
                cls.texts["core"] = gdb(program, core, commands=[source, *COMMANDS])
            else:
                pattern = Path("/proc/sys/kernel/core_pattern").read_text()
                print(f"without a core: the kernel leaves none in the directory (core_pattern {pattern.strip()})")

    def part(self, text: str, name: str) -> str:
        return text.partition(f"--{name}--\n")[2].partition("\n--")[0]

    def in_both(self, check) -> None:
        for where, text in self.texts.items():
            with self.subTest(where):
                check(text)

    def test_all_fibers_are_listed_with_state_task_and_place(self) -> None:
        def check(text: str) -> None:
            listed = text.partition("4 fibers")[2].partition("--bt--")[0]
            gate = r"parked  .*waits_for_the_gate\n +in .*waits_for_the_gate"
            self.assertEqual(len(re.findall(gate, listed)), 2, text)
            self.assertRegex(listed, r"parked  .*parked.cpp.*\n +in .*waits_deeper")
            self.assertRegex(listed, r"running on thread \d+ ")
        self.in_both(check)

    def test_backtraces_go_from_the_wait_to_the_fibers_start(self) -> None:
        def check(text: str) -> None:
            traces = self.part(text, "bt")
            self.assertEqual(traces.count("in cppless_fiber_start"), 4, text)
            self.assertEqual(len(re.findall(r"#\d+ .*waits_deeper", traces)), 4, text)
            self.assertNotIn("corrupt", traces)
        self.in_both(check)

    def test_a_fiber_takes_the_place_of_the_thread_for_one_command_or_for_all_that_follow(self) -> None:
        def check(text: str) -> None:
            for name in ("one", "moved"):
                self.assertIn("waits_for_the_gate", self.part(text, name))
                self.assertNotRegex(self.part(text, name), "all_are_parked|abort")
            self.assertRegex(self.part(text, "back"), "all_are_parked|abort")
            self.assertNotIn("waits_for_the_gate", self.part(text, "back"))
        self.in_both(check)

    def test_a_fiber_that_is_not_there_is_an_error(self) -> None:
        self.in_both(lambda text: self.assertIn("there is no fiber '99'", text))


if __name__ == "__main__":
    program = str(Path(sys.argv.pop(1)).resolve())
    if shutil.which("gdb") is None:
        print("SKIPPED: gdb is not installed (tools/setup tests)")
        sys.exit(77)
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The command's parts by themselves: no compiler needed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import multiprocessing
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cppless import build, cache, main, summary
from cppless.progress import Progress
from cppless.problem import Problem

from .support import ROOT


class Summary(unittest.TestCase):
    def test_counts_times_and_speed_up_make_one_line(self) -> None:
        self.assertEqual(
            summary.line({"tasks": 1000, "workers": 2, "wall_ns": 1_200_000_000, "retries": 1, "failed": 0,
                          "task_ns": 2_280_000_000}),
            "1,000 tasks on 2 workers in 1.20 s, 2.28 s in tasks, "
            "speed-up 1.9x over serial task time, 1 retry")

    def test_elsewhere_than_on_workers_of_this_machine_no_speed_up_is_claimed(self) -> None:
        self.assertEqual(summary.line({"tasks": 64, "wall_ns": 2_000_000_000, "task_ns": 66_000_000_000}),
                         "64 tasks in 2.00 s, 66.0 s in tasks, 33.0 at once on average, 0 retries")

    def test_failures_are_told(self) -> None:
        self.assertTrue(summary.line({"tasks": 1, "failed": 1, "wall_ns": 5}).endswith(", 1 failed"))

    def test_a_program_without_tasks_says_so(self) -> None:
        self.assertEqual(summary.line({"tasks": 0}), "no tasks")

    def test_a_missing_or_broken_file_is_no_summary(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "summary.json"
            self.assertIsNone(summary.read(path))
            for text in ("", "{\"tasks\":", "[]"):
                path.write_text(text, "utf-8")
                self.assertIsNone(summary.read(path))
            path.write_text('{"tasks": 3}', "utf-8")
            self.assertEqual(summary.read(path), {"tasks": 3})

    def test_durations_have_three_digits(self) -> None:
        for nanoseconds, text in ((0, "0 ns"), (812, "812 ns"), (4310, "4.31 us"), (12_040_000, "12.0 ms"),
                                  (999_600_000, "1.00 s"), (119e9, "119 s"), (200e9, "3 min 20 s")):
            self.assertEqual(summary.duration(nanoseconds), text)


class CommandLine(unittest.TestCase):
    def test_words_after_two_dashes_belong_to_the_program(self) -> None:
        self.assertEqual(main.split(["run", "a.cpp", "--", "-x", "--", "y"]),
                         (["run", "a.cpp"], ["-x", "--", "y"]))


class Dependencies(unittest.TestCase):
    def test_a_depfile_is_read_with_its_escapes(self) -> None:
        text = "/tmp/my\\ out: a\\ b.cpp \\\n  /usr/x.h c$$d.hpp \\\n  e\\#f.hpp\n"
        self.assertEqual([str(path) for path in build._parse_depfile(text)],
                         ["a b.cpp", "/usr/x.h", "c$d.hpp", "e#f.hpp"])

    def test_names_are_relative_to_the_repository_of_a_source(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            top = Path(directory).resolve()
            (top / "a" / "b").mkdir(parents=True)
            self.assertEqual(build.source_root(top / "a" / "b" / "x.cpp"), top / "a" / "b")
            (top / ".git").mkdir()
            self.assertEqual(build.source_root(top / "a" / "b" / "x.cpp"), top)


def _fill(entry: str, log: str) -> None:
    def make(directory: Path) -> None:
        with open(log, "a", encoding="ascii") as file:
            file.write("made\n")
        time.sleep(0.2)
        (directory / "result").write_text("whole", "ascii")

    cache.fill(Path(entry), make, Progress(quiet=True))


class PrecompiledHeader(unittest.TestCase):
    """It may stand in only where nothing that comes before the umbrella header could matter."""

    def begins(self, text: str) -> bool:
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
            source.write(text)
            source.flush()
            return build.begins_with_cppless(source.name)

    def test_after_comments_and_standard_headers(self) -> None:
        self.assertTrue(self.begins("// a\n/* b\n */ #include <vector>\n\n# include <cppless/cppless.hpp>\n"))

    def test_not_after_a_macro_or_another_header(self) -> None:
        for first in ("#define NDEBUG", '#include "mine.hpp"', "#include <sys/mman.h>", "int x;",
                      "#if FAST"):
            self.assertFalse(self.begins(f"{first}\n#include <cppless/cppless.hpp>\n"), first)

    def test_not_without_the_umbrella_header(self) -> None:
        self.assertFalse(self.begins("#include <vector>\nint main() {}\n"))


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.entry = self.directory / "entries" / "name"
        self.log = self.directory / "log"

    def made(self) -> int:
        return self.log.read_text("ascii").count("made")

    def test_several_at_once_make_an_entry_once(self) -> None:
        context = multiprocessing.get_context("fork")
        others = [context.Process(target=_fill, args=(str(self.entry), str(self.log))) for _ in range(4)]
        for other in others:
            other.start()
        for other in others:
            other.join()
            self.assertEqual(other.exitcode, 0)
        self.assertEqual(self.made(), 1)

    def test_what_a_killed_run_left_is_made_again(self) -> None:
        self.entry.mkdir(parents=True)
        (self.entry / "half").write_text("broken", "ascii")
        _fill(str(self.entry), str(self.log))
        self.assertEqual(sorted(file.name for file in self.entry.iterdir()), [cache.COMPLETE, "result"])

    def test_a_failed_build_is_tried_again(self) -> None:
        def fail(_: Path) -> None:
            raise Problem("no")

        with self.assertRaises(Problem):
            cache.fill(self.entry, fail, Progress(quiet=True))
        _fill(str(self.entry), str(self.log))
        self.assertEqual(self.made(), 1)

    def test_entries_unused_for_long_are_removed(self) -> None:
        for name in ("old", "new"):
            _fill(str(self.directory / "entries" / name), str(self.log))
        os.utime(self.directory / "entries" / "old" / cache.COMPLETE, (0, 0))
        cache.remove_unused(self.directory / "entries")
        self.assertEqual(sorted(path.name for path in (self.directory / "entries").iterdir()),
                         ["new", "new.lock"])

    def test_names_tell_lists_apart_that_look_alike_when_joined(self) -> None:
        self.assertNotEqual(cache.content_hash(["ab", "c"]), cache.content_hash(["a", "bc"]))


class Check(unittest.TestCase):
    """tools/check counts what test programs print, and what they do not."""

    @classmethod
    def setUpClass(cls) -> None:
        spec = importlib.util.spec_from_file_location("check", ROOT / "tools" / "check.py")
        assert spec is not None and spec.loader is not None
        cls.check = importlib.util.module_from_spec(spec)
        sys.modules["check"] = cls.check
        spec.loader.exec_module(cls.check)

    def test_doctest_counts(self) -> None:
        text = "[doctest] test cases:  5 |  4 passed | 1 failed | 2 skipped\n[doctest] assertions: 9 |"
        self.assertEqual(self.check.parts(text), (4, 1))

    def test_unittest_counts(self) -> None:
        self.assertEqual(self.check.parts("Ran 6 tests in 0.1s\n\nOK (skipped=1)\n"), (5, 0))
        self.assertEqual(self.check.parts("Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n"), (3, 3))

    def test_our_own_runners_counts(self) -> None:
        self.assertEqual(self.check.parts("a: ok\n3 passed, 1 failed\n"), (3, 1))

    def test_a_crash_after_good_counts_is_a_failure(self) -> None:
        step = self.check.Step("name", "text", "", lambda _: None)
        with contextlib.redirect_stdout(io.StringIO()):
            step.count("crash", "fail", "test cases: 5 | 5 passed | 0 failed")
            step.count("silent", "run", "no numbers")
            step.count("absent", "notrun", "")
        self.assertEqual((step.passed, step.failed), (6, ["crash", "absent"]))

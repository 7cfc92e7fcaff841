# SPDX-License-Identifier: Apache-2.0
"""What a traced program writes, and what `cppless trace` makes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from .support import ROOT, CommandTest

sys.path.insert(0, str(ROOT / "cli"))
from cppless import trace_file, trace_numbers  # noqa: E402

PROGRAM = str(ROOT / "cli" / "tests" / "traced.cpp")
STATISTICS = ("cold", "attempts", "queue_ns", "run_ns", "waited_ns", "total_ns", "peak_memory")


def said(output: str) -> dict[str, dict[str, int]]:
    """What the program says of its tasks' statistics, by the name that the trace gives them."""
    rows = [[int(word) for word in line.split()] for line in output.splitlines()]
    return {f"1.{id_}": dict(zip(STATISTICS, values)) for id_, *values in rows}


class TraceTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.trace = self.directory / "run.json"
        self.environment["CPPLESS_TRACE"] = str(self.trace)

    def run_program(self, *words: str, options: tuple[str, ...] = (), status: int = 0) -> str:
        ran = self.cppless("run", PROGRAM, "--quiet", "--workers", "2", *options, "--", *words)
        self.assertEqual(ran.returncode, status, ran.stderr)
        return ran.stdout

    def events(self) -> list[dict[str, Any]]:
        with open(self.trace, encoding="utf-8") as file:
            return json.load(file)

    def tasks(self) -> dict[str, dict[str, Any]]:
        """What the trace says of each task."""
        found = [event["args"] for event in self.events() if event.get("cat") == "task"]
        result = {each["task"]: each for each in found}
        self.assertEqual(len(result), len(found), "a task is there twice")
        return result

    def spans(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events() if event["name"] == name and event["ph"] in "Xb"]

    def assert_same_statistics(self, output: str, tasks: dict[str, dict[str, Any]]) -> None:
        for task, values in said(output).items():
            self.assertEqual({name: tasks[task][name] for name in STATISTICS}, values, f"task {task}")

    def assert_spans_nest(self) -> None:
        """Viewers drop spans of one thread that overlap without one holding the other."""
        lines: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for event in self.events():
            if event["ph"] == "X":
                begin, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
                lines.setdefault((event["pid"], event["tid"]), []).append((begin, -length))
        for spans in lines.values():
            outer: list[int] = []  # ends
            for begin, length in sorted(spans):
                while outer and outer[-1] <= begin:
                    outer.pop()
                self.assertTrue(not outer or begin - length <= outer[-1], (begin, -length, outer))
                outer.append(begin - length)


class Written(TraceTest):
    def test_every_phase_of_every_task_is_there_and_the_numbers_are_those_of_the_statistics(self) -> None:
        output = self.run_program("many", "200")
        tasks = self.tasks()
        self.assertEqual(len(tasks), 200)
        self.assertEqual(len(said(output)), 200)
        self.assert_same_statistics(output, tasks)
        for phase in ("encode", "queue", "send", "run", "receive", "decode"):
            self.assertEqual(len(self.spans(phase)), 200, phase)
        for about in tasks.values():
            self.assertEqual((about["outcome"], about["dispatcher"], about["sent_bytes"]), ("ok", "local", 4))
            times = [about[name] for name in ("created", "submitted", "started", "ended", "received", "settled")]
            self.assertEqual(times, sorted(times))
        self.assertEqual(len({event["pid"] for event in self.spans("run")} - {self.spans("encode")[0]["pid"]}), 2)
        self.assert_spans_nest()

    def test_failures_have_their_kind_and_a_lost_try_is_there_beside_the_next_one(self) -> None:
        output = self.run_program("failures", str(self.directory / "mark"))
        tasks = self.tasks()
        self.assert_same_statistics(output, tasks)
        self.assertEqual([tasks[f"1.{id_}"]["outcome"] for id_ in range(1, 6)],
                         ["ok", "lost", "task_failed", "timeout", "cancelled"])
        self.assertRegex(tasks["1.2"]["error"], r"signal 11")
        self.assertIn('no "7" <here>', tasks["1.3"]["error"])
        [lost] = [event for event in self.events() if event.get("cat") == "try"]
        self.assertEqual((lost["args"]["task"], lost["args"]["attempt"], lost["name"]), ("1.1", 1, "lost"))
        self.assertIn("killed by signal 9", lost["args"]["error"])
        self.assertNotEqual(lost["pid"], tasks["1.1"]["process"])
        self.assertEqual(tasks["1.1"]["attempts"], 2)
        self.assert_spans_nest()

    def test_tasks_of_tasks_name_their_parent_and_show_both_processes(self) -> None:
        self.assert_same_statistics(self.run_program("nested"), self.tasks())
        tasks = self.tasks()
        children = [each for each in tasks.values() if "parent" in each]
        self.assertEqual([each["parent"] for each in children], [1] * 4)
        self.assertGreater(tasks["1.1"]["waited_ns"], 0)
        # Encoded where the parent ran, and decoded there.
        for phase in ("encode", "decode"):
            self.assertEqual({event["pid"] for event in self.spans(phase) if event["args"]["task"] != "1.1"},
                             {tasks["1.1"]["process"]}, phase)
        self.assert_spans_nest()

    def test_the_inline_dispatcher_is_traced_too(self) -> None:
        output = self.run_program("many", "20", options=("--dispatcher", "inline"))
        self.assert_same_statistics(output, self.tasks())
        self.assertEqual({each["dispatcher"] for each in self.tasks().values()}, {"inline"})
        self.assert_spans_nest()

    def test_exit_and_an_exception_leave_a_whole_trace(self) -> None:
        self.run_program("exit", status=3)
        self.assertEqual(len(self.tasks()), 10)
        self.run_program("throw", status=128 + signal.SIGABRT)
        self.assertEqual(len(self.tasks()), 10)

    def test_signals_from_outside_leave_a_whole_trace(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("run", PROGRAM, "--quiet", "--workers", "2", "--", "hang")
            self.eventually(lambda: self.out().count("\n") == 10)
            process.send_signal(number)
            self.assertEqual(process.wait(30), 128 + number)
            self.assertEqual(len(self.tasks()), 10)

    def test_a_trace_that_cannot_be_written_is_said_and_the_program_goes_on(self) -> None:
        self.environment["CPPLESS_TRACE"] = "/nowhere/run.json"
        ran = self.cppless("run", PROGRAM, "--quiet", "--", "many", "5")
        self.assertEqual((ran.returncode, ran.stdout.count("\n")), (0, 5))
        self.assertIn("cppless: this run is not traced: open(/nowhere/run.json) failed: No such file", ran.stderr)


class Lambda(TraceTest):
    def test_runs_on_functions_lie_between_sending_and_answer(self) -> None:
        state = tempfile.TemporaryDirectory(prefix="cppless-platform-")
        self.addCleanup(state.cleanup)
        self.environment |= {"HOME": str(self.directory), "CPPLESS_PLATFORM_STATE": state.name}
        self.addCleanup(self.cppless, "platform", "stop")
        output = self.run_program("many", "20", options=("--dispatcher", "lambda"))
        tasks = self.tasks()
        self.assertEqual(len(tasks), 20)
        self.assert_same_statistics(output, tasks)
        self.assertEqual({each["dispatcher"] for each in tasks.values()}, {"lambda"})
        for phase in ("encode", "queue", "send", "run", "receive", "decode"):
            self.assertEqual(len(self.spans(phase)), 20, phase)
        for about in tasks.values():
            self.assertGreater(about["send_ns"], 0)
            self.assertLessEqual(about["ended"], about["received"])
            # All that is left of the run after the clocks have been put together.
            self.assertLess(abs(about["ended"] - about["started"] - about["run_ns"]), about["run_ns"] // 50 + 2000)
        self.assert_spans_nest()
        ran = self.cppless("trace", str(self.trace))
        self.assertRegex(ran.stdout, r"20 tasks in .*, none failed")
        failed = self.cppless("run", PROGRAM, "--quiet", "--dispatcher", "lambda", "--", "failures", str(self.directory / "mark"))
        self.assertEqual(failed.returncode, 0, failed.stderr)
        self.assertEqual([self.tasks()[f"1.{id_}"]["outcome"] for id_ in (3, 4, 5)], ["task_failed", "timeout", "cancelled"])
        self.assert_spans_nest()


class Read(TraceTest):
    """With traces that are written here: any size, and damage of any kind."""

    def lines(self, count: int, **more: Any) -> list[str]:
        head = {"cat": "cppless", "ph": "X", "name": "trace begins", "pid": 1, "tid": 1, "ts": 0, "dur": 0,
                "args": {"format": 1, "program": "made", "began_ns": 1_700_000_000_000_000_000}}
        lines = ["[", json.dumps(head, separators=(",", ":")) + ","]
        for at in range(count):
            start = 1000 + at // 2 * 1000
            about = {"task": f"1.{at + 1}", "name": "f", "dispatcher": "local", "outcome": "ok", "attempts": 1, "cold": 0,
                     "process": 2 + at % 2, "thread": 2 + at % 2, "created": 100, "submitted": 200, "started": start,
                     "ended": start + 900, "received": start + 950, "settled": start + 970, "encode_ns": 100,
                     "send_ns": 10, "queue_ns": start - 200, "run_ns": 900, "waited_ns": 0, "total_ns": start + 770,
                     "sent_bytes": 4, "received_bytes": 8, "peak_memory": 0, "memory_limit": 0, **more}
            event = {"cat": "task", "ph": "X", "name": "decode", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": about}
            lines.append(json.dumps(event, separators=(",", ":")) + ",")
        return [*lines, '{"cat":"cppless","ph":"i","name":"trace ends","pid":1,"tid":1,"ts":0,"s":"g","args":{"tasks":1}}', "]"]

    def read(self, lines: list[str], end: str = "\n") -> subprocess.CompletedProcess[str]:
        self.trace.write_text("\n".join(lines) + end, "utf-8")
        return self.cppless("trace", str(self.trace))

    def test_a_summary_adds_up(self) -> None:
        ran = self.read(self.lines(1000))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("made, 2023-11-1", ran.stdout)
        self.assertIn("1,000 tasks in 501 us, none failed, 0 retries\n", ran.stdout)
        self.assertIn("2 workers, 900 us in tasks, 1.80 at once on average; first to last run took 1.11 times the ideal",
                      ran.stdout)
        self.assertRegex(ran.stdout, r"run +900 us +900 ns +900 ns +900 ns +900 ns\n")
        self.assertIn("3.9 KiB sent, 7.8 KiB received", ran.stdout)
        # A thousand requests of one millisecond each at 1,024 MB.
        self.assertIn("about $0.000217 on AWS Lambda (1,000 requests, 1.000 GB-s, x86_64)", ran.stdout)

    def test_a_trace_that_was_cut_off_is_read_as_far_as_it_goes(self) -> None:
        lines = self.lines(100)
        ran = self.read(lines[:50] + [lines[50][:100]], end="")
        self.assertEqual(ran.returncode, 0)
        self.assertIn("48 tasks", ran.stdout)
        self.assertIn("1 line of ", ran.stderr)
        self.assertIn("has no end: its program was killed or is still running", ran.stderr)

    def test_every_cut_is_read_or_refused_without_a_traceback(self) -> None:
        text = "\n".join(self.lines(3)) + "\n"
        for size in range(0, len(text), 7):
            path = self.directory / "cut.json"
            path.write_text(text[:size], "utf-8")
            try:
                trace_numbers.Numbers(trace_file.read(str(path)))
            except trace_file.Problem:
                self.assertLess(size, 200)

    def test_damaged_lines_are_left_out_and_counted(self) -> None:
        lines = self.lines(10)
        for at, damage in ((3, "garbage"), (4, lines[4].replace('"run_ns":900', '"run_ns":"x"')),
                           (5, lines[5].replace('"task":"1.4"', '"task":[]')), (6, "\0" * 50),
                           (7, '{"cat":"task"' + "[" * 100_000), (8, lines[8].replace("900", "-900"))):
            lines[at] = damage
        ran = self.read(lines)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("4 tasks", ran.stdout)
        self.assertIn("6 lines of ", ran.stderr)

    def test_what_is_no_trace_is_refused(self) -> None:
        other = '[{"name":"x","ph":"X"}]'
        for name, content in (("empty", b""), ("text", b"hello\n"), ("other", other.encode()), ("binary", os.urandom(10_000)),
                              ("zeros", bytes(100_000)), ("list", b"[\n[],\n]"), ("numbers", b"[\n1,\n2\n]\n")):
            path = self.directory / name
            path.write_bytes(content)
            ran = self.cppless("trace", str(path))
            self.assertEqual((ran.returncode, ran.stdout), (1, ""), name)
            self.assertEqual(ran.stderr, f"cppless: error: {path} is not a trace that a cppless program wrote: "
                                         "run one with CPPLESS_TRACE=FILE in its environment\n")
        ran = self.cppless("trace", "nowhere.json")
        self.assertEqual((ran.returncode, ran.stderr), (1, "cppless: error: cannot read nowhere.json (No such file or directory)\n"))
        self.assertEqual(self.cppless("trace").returncode, 2)
        newer = self.read([line.replace('"format":1', '"format":9') for line in self.lines(1)])
        self.assertEqual((newer.returncode, newer.stderr.count("format 9")), (1, 1))

    def test_a_trace_without_tasks_says_so(self) -> None:
        ran = self.read(self.lines(0))
        self.assertEqual((ran.returncode, ran.stdout.endswith("no tasks\n")), (0, True), ran.stderr)
        self.assertEqual(self.cppless("trace", str(self.trace), "--html", "page.html").returncode, 0)

    def test_a_page_that_cannot_be_written_is_an_error(self) -> None:
        self.read(self.lines(1))
        ran = self.cppless("trace", str(self.trace), "--html", "/nowhere/page.html")
        self.assertEqual((ran.returncode, ran.stderr),
                         (1, "cppless: error: cannot write /nowhere/page.html (No such file or directory)\n"))

    def test_of_more_tasks_than_can_be_drawn_the_page_shows_how_busy_workers_were(self) -> None:
        self.read(self.lines(30_000))
        self.assertEqual(self.cppless("trace", str(self.trace), "--html", "page.html").returncode, 0)
        data = data_of(self.directory / "page.html")
        self.assertEqual((data["tasks"], len(data["drawn"]["task"]), len(data["busy"])), (30_000, 2000, 2))
        self.assertTrue(all(0.85 < share <= 1 for share in data["busy"][0][5:-5]))
        self.assertLess((self.directory / "page.html").stat().st_size, 1_000_000)


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.S)
    assert found is not None
    return json.loads(found.group(1))


BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None)


class Page(TraceTest):
    def setUp(self) -> None:
        super().setUp()
        self.page = self.directory / "page.html"

    def make(self, *words: str) -> str:
        output = self.run_program(*words)
        ran = self.cppless("trace", str(self.trace), "--html", str(self.page))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return output

    def values(self, text: str) -> dict[str, str]:
        return dict(re.findall(r'<b id="([\w-]+)" data-value="([\d.]+)"', text))

    def test_the_numbers_are_those_of_the_statistics(self) -> None:
        tasks = said(self.make("many", "300"))
        text = self.page.read_text("utf-8")
        drawn = data_of(self.page)["drawn"]
        self.assertEqual({task: row for task, *row in zip(*(drawn[name] for name in ("task", "run", "queue", "total", "attempts")))},
                         {task: [of["run_ns"], of["queue_ns"], of["total_ns"], of["attempts"]] for task, of in tasks.items()})
        self.assertEqual(self.values(text)["tasks"], "300")
        self.assertEqual(int(self.values(text)["in-tasks"]), sum(of["run_ns"] - of["waited_ns"] for of in tasks.values()))
        self.assertEqual(int(self.values(text)["cold-starts"]), sum(of["cold"] for of in tasks.values()))
        for phase in ("run", "queue", "total"):
            found = re.search(rf'<tr id="phase-{phase}">(.*?)</tr>', text)
            assert found is not None
            times = sorted(of[f"{phase}_ns"] for of in tasks.values())
            self.assertEqual([int(value) for value in re.findall(r'data-value="(\d+)"', found.group(1))],
                             [sum(times), times[149], times[269], times[296], times[299]], phase)

    def test_failures_and_retries_are_named_and_cannot_break_the_page(self) -> None:
        self.make("failures", str(self.directory / "mark"))
        text = self.page.read_text("utf-8")
        self.assertEqual([self.values(text)[name] for name in ("tasks", "failed", "retries")], ["5", "4", "1"])
        self.assertIn("no &quot;7&quot; &lt;here&gt;", text)
        self.assertRegex(text, r'id="tries">.*killed by signal 9')

    @unittest.skipIf(BROWSER is None, "no Chromium here: tools/setup browser installs one")
    def test_it_is_drawn_by_a_browser_without_a_complaint(self) -> None:
        self.make("many", "10000")
        ran = subprocess.run([str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                              f"--user-data-dir={self.temporary}", "--virtual-time-budget=10000", "--dump-dom",
                              self.page.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("CONSOLE", ran.stderr)
        self.assertIn('<body data-drawn="10000"', ran.stdout)
        self.assertEqual(self.values(ran.stdout)["tasks"], "10000")
        self.assertRegex(ran.stdout, r'<canvas id="timeline" height="[1-9]\d*"')

    @unittest.skipIf(BROWSER is None, "no Chromium here: tools/setup browser installs one")
    def test_a_script_that_fails_would_be_seen(self) -> None:
        self.page.write_text("<!doctype html><body><script>nothing.there();</script>", "utf-8")
        ran = subprocess.run([str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                              f"--user-data-dir={self.temporary}", "--dump-dom", self.page.as_uri()],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertIn("CONSOLE", ran.stderr)


if __name__ == "__main__":
    unittest.main()

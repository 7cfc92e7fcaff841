# SPDX-License-Identifier: Apache-2.0
"""Looks at a program and its workers from outside: what is left when it ends, what they use, what
they print. `host.py PROGRAM [TEST...]`; every test has a time limit.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

PROGRAM = ""
TESTS: dict[str, Callable[[], None]] = {}
IS_SANITIZED = os.environ.get("CPPLESS_TEST_IS_SANITIZED") == "1"
LIMIT = 120.0 if IS_SANITIZED else 40.0


def test(function: Callable[[], None]) -> Callable[[], None]:
    TESTS[function.__name__] = function
    return function


def check(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def start(name: str, **variables: str) -> subprocess.Popen[str]:
    environment = dict(os.environ, CPPLESS_PROGRESS="never", **variables)
    return subprocess.Popen([PROGRAM, name], env=environment, stdin=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def run(name: str, **variables: str) -> tuple[str, str, float]:
    begin = time.monotonic()
    process = start(name, **variables)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{name} has not ended after {LIMIT:.0f} s") from None
    check(process.returncode == 0, f"{name} returned {process.returncode}: {out}{err}")
    return out, err, time.monotonic() - begin


def is_alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def pids_of(process: subprocess.Popen[str]) -> list[int]:
    """What tell_pids printed: the host and its workers."""
    assert process.stdout is not None
    line = process.stdout.readline().split()
    check(len(line) > 2 and line[0] == "host", f"expected pids, got {line}")
    pids = sorted({int(each) for each in line[1:]})
    check(process.pid in pids and all(map(is_alive, pids)), f"not all of {pids} run")
    return pids


def wait_until_gone(pids: list[int], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(map(is_alive, pids)):
            return
        time.sleep(0.02)
    raise AssertionError(f"still running: {[pid for pid in pids if is_alive(pid)]} of {pids}")


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(text[text.rindex(")") + 2:].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def ends_by(kind: signal.Signals, to_group: bool, scenario: str) -> None:
    process = start(scenario)
    try:
        pids = pids_of(process)
        time.sleep(0.3)
        pids = sorted(set(pids + children_of(process.pid)))
        if to_group:
            os.killpg(process.pid, kind)  # as a terminal does
        else:
            process.send_signal(kind)
        returned = process.wait(timeout=LIMIT)
        check(returned == -kind, f"{scenario} returned {returned} after {kind.name}")
        wait_until_gone(pids, 5)
    finally:
        process.kill()
        process.communicate()


def all_ends(scenario: str) -> None:
    ends_by(signal.SIGINT, True, scenario)
    ends_by(signal.SIGTERM, False, scenario)
    ends_by(signal.SIGKILL, False, scenario)


@test
def signals_leave_no_idle_worker() -> None:
    all_ends("idle")


@test
def signals_leave_no_busy_worker() -> None:
    all_ends("busy")


@test
def signals_leave_no_waiting_worker() -> None:
    all_ends("nesting")


@test
def returning_from_main_leaves_no_worker() -> None:
    process = start("leaves")
    try:
        pids = pids_of(process)
        check(process.wait(timeout=LIMIT) == 0, "leaves failed")
        wait_until_gone(pids, 5)
    finally:
        process.kill()
        process.communicate()


def ticks(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2:].split()
    return int(fields[11]) + int(fields[12])


def uses_no_cpu(scenario: str) -> None:
    process = start(scenario)
    try:
        pids = pids_of(process)
        time.sleep(1.0)
        pids = sorted(set(pids + children_of(process.pid)))
        before = {pid: ticks(pid) for pid in pids}
        time.sleep(1.0)
        for pid, was in before.items():
            used = ticks(pid) - was
            who = "host" if pid == process.pid else "a worker"
            check(used < 3, f"{scenario}: {who} used {used} ticks of CPU in 1 s; fewer than 3 allowed")
    finally:
        process.kill()
        process.communicate()


@test
def an_idle_host_and_its_workers_use_no_cpu() -> None:
    uses_no_cpu("idle")


@test
def a_host_that_waits_uses_no_cpu() -> None:
    uses_no_cpu("waiting")


@test
def a_task_that_waits_uses_no_cpu() -> None:
    uses_no_cpu("nesting")


@test
def workers_that_cannot_start_are_an_error() -> None:
    out, _, seconds = run("rejected", TEST_POISON="1")
    lines = out.splitlines()
    check(len(lines) == 6, f"expected 6 errors, got {out}")
    for line in lines:
        check(line.startswith("rejected: ") and "before they can take tasks" in line, line)
    check(seconds < LIMIT / 2, f"took {seconds:.1f} s")


def split(line: str) -> tuple[str, str]:
    found = re.fullmatch(r"\[([^\]]*)\] (.*)", line)
    check(found is not None, f"not a task's line: {line!r}")
    assert found is not None
    return found[1], found[2]


@test
def output_of_tasks_is_shown_whole_with_their_names() -> None:
    out, err, _ = run("output")
    check(out == "result\n", f"standard output is the host's alone, got {out[:200]!r}")
    seen: dict[str, int] = {}
    for line in err.splitlines():
        if line.startswith("host has seen"):
            continue
        name, text = split(line)
        if text.startswith(("out ", "err ")):
            check("talker" in name, f"{text!r} is shown as {name}'s")
            check(re.fullmatch(r"out \d+ line \d+ of a text that is long enough to be cut in two"
                               r"|err \d+ line \d+", text) is not None, f"torn: {line!r}")
        elif text.startswith("no end"):
            check("whisperer" in name, f"{text!r} is shown as {name}'s")
            check(re.fullmatch(r"no end \d+", text) is not None, f"torn: {line!r}")
        else:
            check(text == "last words" and "output()" in name, f"unexpected line {line!r}")
        seen[text] = seen.get(text, 0) + 1
    for number in range(20):
        for line in range(50):
            check(seen.get(f"err {number} line {line}") == 1, f"err {number} line {line}: missing")
            text = f"out {number} line {line} of a text that is long enough to be cut in two"
            check(seen.get(text) == 1, f"{text}: {seen.get(text)} times")
        check(seen.get(f"no end {number}") == 1, f"no end {number}: missing")
    check(seen.get("last words") == 3, "a task that dies three times says its last words three times")


@test
def output_of_a_task_is_shown_before_its_result_is_seen() -> None:
    _, err, _ = run("output")
    lines = err.splitlines()
    for number in range(100, 120):
        said = [i for i, line in enumerate(lines) if line.endswith(f"no end {number}")]
        seen = lines.index(f"host has seen {number}")
        check(len(said) == 1 and said[0] < seen, f"task {number}: lines {said}, result seen at {seen}")
    last = max(i for i, line in enumerate(lines) if line.endswith("last words"))
    check(last < lines.index("host has seen the end"), "last words after the end")


@test
def a_detached_task_outlives_its_program_and_another_one_collects_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool, gate = f"{folder}/a/spool", f"{folder}/gate"
        program = start("detach", CPPLESS_DETACHED_DIR=spool, TEST_GATE=gate, PWD=folder)
        out, err = program.communicate(timeout=LIMIT)
        check(program.returncode == 0, f"detach returned {program.returncode}: {out}{err}")
        task = out.strip()
        log = Path(spool, task, "log")
        until = time.monotonic() + LIMIT
        while "waiting in" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.01)
        check(log.read_text() == f"waiting in {folder}\n", log.read_text())
        check(os.stat(spool).st_mode & 0o777 == 0o700, oct(os.stat(spool).st_mode))
        collector = start("collect", CPPLESS_DETACHED_DIR=spool, TEST_ID=task)
        Path(gate).touch()
        out, err = collector.communicate(timeout=LIMIT)
        check(out.startswith("42 in session "), out + err)
        check(int(out.split()[-1]) not in (os.getsid(0), program.pid), "it has a session of its own")
        check(list(Path(spool).iterdir()) == [], "nothing is left")
        out, _, _ = run("collect", CPPLESS_DETACHED_DIR=spool, TEST_ID=task)
        check(out.startswith("rejected: ") and "was collected already" in out, out)


@test
def limits_a_task_does_not_set_are_not_enforced() -> None:
    out, _, _ = run("large")
    check(out == "1200 MB\n", out)


@test
def strict_mode_applies_lambdas_memory_limit() -> None:
    if IS_SANITIZED:
        return
    out, _, _ = run("large", CPPLESS_STRICT="1")
    check(out.startswith("task_failed: ") and "1024 MB" in out, out)


@test
def strict_mode_applies_lambdas_time_limit() -> None:
    out, _, seconds = run("slow", CPPLESS_STRICT="1")
    check(out.startswith("timeout: ") and "10 s" in out, out)
    check(seconds >= 10, f"ended after {seconds:.1f} s")


def main() -> int:
    global PROGRAM
    PROGRAM = sys.argv[1]
    failed = 0
    for name in sys.argv[2:] or TESTS:
        begin = time.monotonic()
        try:
            TESTS[name]()
            outcome = "ok"
        except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as error:
            outcome = f"FAILED: {error}"
            failed += 1
        print(f"{name.replace('_', ' ')}: {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Installs what is missing, builds everything and runs every test.

Each step builds into build/<preset> and leaves its output in build/logs/<step>.log. The last line is
"N passed, N failed", counted over all steps: unit test cases where the test program names their number,
else test programs. The exit status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Sequence

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PLUGIN = BUILD / "release" / "plugin" / "cppless-plugin.so"
STEP_LIMIT_SECONDS = 1200


class Broken(Exception):
    """A command of the step failed: the rest of the step makes no sense."""


@dataclass
class Step:
    """What one step does and what came of it."""

    name: str
    text: str
    components: str  # for tools/setup
    action: Callable[["Step"], None]
    passed: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return BUILD / "logs" / f"{self.name}.log"

    def command(self, *words: str | Path, env: dict[str, str] | None = None) -> None:
        """Runs a command into the log; its failure is shown and ends the step."""
        output, status = self.run([str(word) for word in words], env)
        if status != 0:
            print(output[-6000:], flush=True)
            raise Broken(f"{Path(str(words[0])).name} ended with status {status}")

    def run(self, words: Sequence[str], env: dict[str, str] | None = None) -> tuple[str, int]:
        with open(self.log, "ab+") as log:
            log.write(f"+ {' '.join(words)}\n".encode())
            log.flush()
            start = log.tell()
            status = run_limited(words, log, env)
            log.seek(start)
            return log.read().decode("utf-8", "replace"), status

    def configure(self, preset: str, *options: str) -> None:
        self.command("cmake", "--preset", preset, *options)

    def build(self, preset: str, *targets: str) -> None:
        words = ["cmake", "--build", BUILD / preset]
        self.command(*words, *(("--target", *targets) if targets else ()))

    def ctest(self, preset: str, *options: str) -> None:
        """Runs the tests of a build, one more than there are cores as some only wait; shows the output
        of those that failed."""
        results = self.log.with_suffix(".xml")
        results.unlink(missing_ok=True)
        output, status = self.run(
            ["ctest", "--test-dir", str(BUILD / preset), "--output-junit", str(results), "--timeout", "600",
             "--no-tests=error", "--parallel", str((os.cpu_count() or 1) + 1), "--test-output-size-passed",
             "1000000", "--test-output-size-failed", "1000000", "--output-on-failure", *options])
        if not results.exists():
            print(output[-3000:], flush=True)
            raise Broken(f"ctest ended with status {status}")
        for case in xml.parse(results).getroot().iter("testcase"):
            self.count(case.get("name", "?"), case.get("status", "?"), case.findtext("system-out") or "")

    def count(self, name: str, status: str, output: str) -> None:
        """Adds one ctest test, by its parts if its output tells how many there were."""
        if status == "disabled":
            return
        passed, failed = parts(output)
        if status != "run" and failed == 0:
            failed = 1  # crashed, timed out, or was never built
        self.passed += passed if passed + failed else 1
        if failed:
            self.failed += [name] * failed
            print(f"-- {name} ({status}):\n{output[-6000:].rstrip()}", flush=True)


def run_limited(words: Sequence[str], log: object, env: dict[str, str] | None) -> int:
    """Runs a command in a process group of its own, which ends with us and after the limit."""
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        return process.wait(STEP_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"still running after {STEP_LIMIT_SECONDS} s: {' '.join(words)}", flush=True)
        return 124
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def parts(output: str) -> tuple[int, int]:
    """(passed, failed) as doctest, unittest and our own runners print them; (0, 0) if none spoke."""
    passed = failed = 0
    for found in re.finditer(r"^(\d+) passed, (\d+) failed$", output, re.M):
        passed += int(found.group(1))
        failed += int(found.group(2))
    for found in re.finditer(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed", output):
        passed += int(found.group(1))
        failed += int(found.group(2))
    for found in re.finditer(r"^Ran (\d+) tests? in .*\n\n(\w+)(?: \((.*)\))?", output, re.M):
        results = dict(re.findall(r"(\w[\w ]*)=(\d+)", found.group(3) or ""))
        bad = int(results.get("failures", 0)) + int(results.get("errors", 0))
        failed += bad or (found.group(2) == "FAILED")
        passed += max(0, int(found.group(1)) - bad - int(results.get("skipped", 0)))
    return passed, failed


def release(step: Step) -> None:
    step.configure("release", "-DCPPLESS_BUILD_PLATFORM=ON", "-DCPPLESS_BUILD_MIGRATE=ON")
    step.build("release")
    step.ctest("release")


def library_tests(preset: str, *options: str) -> Callable[[Step], None]:
    def action(step: Step) -> None:
        step.configure(preset, "-DCPPLESS_BUILD_EXAMPLES=OFF", *options)
        step.build(preset, "cppless_library_tests")
        step.ctest(preset, "-L", "^(library|conformance)$")

    return action


def sanitized(preset: str) -> Callable[[Step], None]:
    def action(step: Step) -> None:
        if not PLUGIN.exists():
            step.configure("release")
            step.build("release", "cppless_plugin")
        library_tests(preset, f"-DCPPLESS_PLUGIN_FILE={PLUGIN}")(step)

    return action


def clang_16(step: Step) -> None:
    step.configure("clang-16", "-DCPPLESS_BUILD_EXAMPLES=OFF")
    step.build("clang-16", "cppless_plugin")
    step.ctest("clang-16", "-R", "^(plugin|listings_language)$")


def cli(step: Step) -> None:
    output, status = step.run([sys.executable, "cli/tests"])
    step.count("cli", "run" if status == 0 else "fail", output)


def install(step: Step) -> None:
    step.configure("release")
    step.build("release", "cppless_plugin")
    output, status = step.run([sys.executable, "tests/install/run.py", "--plugin", str(PLUGIN)])
    step.count("install", "run" if status == 0 else "fail", output)


STEPS = (
    Step("release", "clang 19, Release: everything", "run tests platform aws migrate", release),
    Step("gcc", "library tests with g++ 12, without plugin", "run tests gcc", library_tests("gcc")),
    Step("clang-16", "plugin tests with clang 16", "run tests clang-16", clang_16),
    Step("asan", "library tests with AddressSanitizer and UndefinedBehaviorSanitizer", "run tests",
         sanitized("asan")),
    Step("tsan", "library tests with ThreadSanitizer", "run tests", sanitized("tsan")),
    Step("cli", "the cppless command", "run tests platform aws browser migrate", cli),
    Step("install", "find_package and add_subdirectory from another project", "run tests platform aws", install),
)


def perform(step: Step) -> None:
    print(f"\n== {step.name}: {step.text}", flush=True)
    started = time.monotonic()
    step.log.parent.mkdir(parents=True, exist_ok=True)
    step.log.unlink(missing_ok=True)
    try:
        step.action(step)
    except Broken as broken:
        step.failed.append(str(broken))
        print(f"-- {broken}; all output: {step.log}", flush=True)
    print(f"   {step.passed} passed, {len(step.failed)} failed in {time.monotonic() - started:.0f} s",
          flush=True)


def chosen(words: Sequence[str]) -> list[Step]:
    parser = argparse.ArgumentParser(prog="tools/check", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="only the step \"release\"")
    which.add_argument("--only", metavar="STEP", action="append", choices=[step.name for step in STEPS],
                       help="only this step (may be repeated)")
    which.add_argument("--list", action="store_true", help="list the steps")
    options = parser.parse_args(words)
    if options.list:
        for step in STEPS:
            print(f"{step.name:10} {step.text}")
        sys.exit(0)
    only = ["release"] if options.quick else options.only
    return [step for step in STEPS if not only or step.name in only]


def main(words: Sequence[str]) -> int:
    steps = chosen(words)
    started = time.monotonic()
    # The steps compile much of the library alike: the package, the command's own build, the install.
    os.environ.update(CMAKE_CXX_COMPILER_LAUNCHER="ccache", CCACHE_DIR=str(BUILD / "ccache"),
                      CCACHE_NOHASHDIR="1")
    print("== setup: install what is missing", flush=True)
    components = dict.fromkeys(" ".join(step.components for step in steps).split())
    status = subprocess.run([ROOT / "tools" / "setup", *components]).returncode
    if status != 0:
        return status
    for step in steps:
        perform(step)
    print(f"\n== all of it took {time.monotonic() - started:.0f} s", flush=True)
    for step in steps:
        for name in dict.fromkeys(step.failed):
            print(f"failed: {step.name}: {name}")
    failed = sum(len(step.failed) for step in steps)
    print(f"{sum(step.passed for step in steps)} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

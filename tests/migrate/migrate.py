#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Migrates programs and compares: the text, the notes, and what they print before and after.

    migrate.py --tool cppless-migrate --headers DIRECTORY [--compiler clang++-19] [--link FLAGS]

Each program is a file programs/NAME.cpp or a directory programs/NAME. NAME.migrated is what must
become of it (what is missing there must not change). In the sources:

    // OUT: TEXT       one line of what the program prints, before and after
    // ONLY: compile   it is not linked and run
    ...  // NOTE: TEXT NOTE: TEXT   notes that must be given on this line, no others

Without --link programs are only compiled after the migration. Then come functions test_* of
command_line_test.py. Ends with `N passed, M failed` and exit code 1 if M > 0.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
TIMEOUT_SECONDS = 120
NOTE = re.compile(r"^(.+?):(\d+):\d+: note: (.*)$", re.M)


class Context:
    """The tools, and a directory of its own for each test."""

    def __init__(self, options: argparse.Namespace, directory: str) -> None:
        self.tool, self.headers, self.compiler = options.tool, options.headers, options.compiler
        self.link_flags = shlex.split(options.link) if options.link is not None else None
        self.directory = Path(directory).resolve()

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def run(self, *words: str, expect: int = 0, text_in: str = "") -> subprocess.CompletedProcess[str]:
        result = subprocess.run(words, cwd=self.directory, input=text_in, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS)
        assert result.returncode == expect, (
            f"exit code {result.returncode}, not {expect}: {shlex.join(words)}\n{result.stdout}{result.stderr}")
        return result

    def migrate(self, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run(self.tool, "--library", self.headers, *words, expect=expect)

    def printed(self, sources: list[str]) -> list[str]:
        self.run(self.compiler, "-std=c++20", f"-I{self.headers}", "-pthread", *sources, "-o", "program",
                 *(self.link_flags or []))
        return self.run("./program").stdout.splitlines()


def check_program(program: Path, context: Context) -> None:
    if program.is_dir():
        shutil.copytree(program, context.directory, dirs_exist_ok=True)
    else:
        shutil.copy(program, context.directory)
    before = texts(context.directory)
    sources = sorted(name for name in before if name.endswith(".cpp"))
    after = {**before, **expected_texts(program)}

    shown = context.migrate(*sources)
    assert texts(context.directory) == before, "without --write a file was changed"
    compare_notes(before, shown.stderr)
    lines = [line for text in before.values() for line in re.findall(r"^// OUT: ?(.*)$", text, re.M)]
    runs = not any("// ONLY: compile" in text for text in before.values())
    if runs:
        printed = context.printed(sources)
        assert printed == lines, f"before it printed {printed}, not {lines}"
        (context.directory / "program").unlink()

    context.migrate("--write", *sources)
    written = texts(context.directory)
    for name, text in after.items():
        assert written[name] == text, f"{name} became:\n{written[name]}"
    assert context.migrate(*sources).stdout == "", "the second time there was something to change"
    compare_notes(after, context.migrate("--write", *sources).stderr)
    assert texts(context.directory) == written, "the second time something changed"
    if runs and context.link_flags is not None:
        printed = context.printed(sources)
        assert printed == lines, f"after it printed {printed}, not {lines}"
        (context.directory / "program").unlink()
    check_patch(context, before, after, shown.stdout)


def check_patch(context: Context, before: dict[str, str], after: dict[str, str], difference: str) -> None:
    """The difference that was shown leads from before to after."""
    for name, text in before.items():
        context.write(name, text)
    if difference:
        context.run("patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", text_in=difference)
    assert texts(context.directory) == after, "the difference does not lead to what was written"


def texts(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_bytes().decode() for path in sorted(directory.rglob("*"))
            if path.is_file()}


def expected_texts(program: Path) -> dict[str, str]:
    expected = program.parent / f"{program.stem}.migrated"
    if program.is_dir():
        return texts(expected)
    return {program.name: expected.read_text("utf-8")} if expected.exists() else {}


def compare_notes(sources: dict[str, str], printed: str) -> None:
    given: dict[tuple[str, int], list[str]] = {}
    for file, line, text in NOTE.findall(printed):
        given.setdefault((file, int(line)), []).append(text)
    for name, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            wanted = re.findall(r"NOTE: (.*?)(?= *NOTE: |$)", line.partition("// NOTE:")[2] and "NOTE:" + line.partition("// NOTE:")[2])
            notes = given.pop((name, number), [])
            assert len(notes) == len(wanted) and all(any(text in note for note in notes) for text in wanted), \
                f"{name}:{number}: notes {notes}, wanted {wanted}"
    assert not given, f"notes without a line that asks for them: {given}"


def tests() -> Iterator[tuple[str, Callable[[Context], None]]]:
    for program in sorted((HERE / "programs").iterdir()):
        if program.suffix != ".migrated":
            yield program.stem, lambda context, program=program: check_program(program, context)
    import command_line_test

    for name, function in sorted(vars(command_line_test).items()):
        if name.startswith("test_"):
            yield name, function


def run_one(options: argparse.Namespace, name: str, test: Callable[[Context], None]) -> str:
    """What went wrong, "" if nothing."""
    with tempfile.TemporaryDirectory(prefix="migrate ") as directory:  # with a space, on purpose
        try:
            test(Context(options, directory))
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            return str(problem) or "failed"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--headers", required=True, help="where <cppless/fiber.hpp> is")
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--link", help="flags that link the library; without, migrated programs are not run")
    parser.add_argument("--only", default="", help="tests whose name contains this")
    options = parser.parse_args()
    found = [(name, test) for name, test in tests() if options.only in name]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        problems = list(pool.map(lambda test: run_one(options, *test), found))
    for (name, _), problem in zip(found, problems):
        if problem:
            print(f"FAILED {name}: {problem}")
    failed = sum(1 for problem in problems if problem)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())

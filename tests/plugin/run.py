#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs compiler tests: one file holds the source, what is to be done with it and what must come out.

    run.py --clang clang++-19 --plugin cppless-plugin.so --driver cppless++ DIRECTORY...

Each *.cpp file begins with comment lines:

    // RUN: verify FLAGS    compile without output; `expected-error` and such comments must match
                            (clang's -verify)
    // RUN: output FLAGS    compile, run, compare what it prints with the OUT lines
    // RUN: driver FLAGS    build with cppless++; run every executable of it; the OUT lines are
                            prefixed with the executable's name and a colon
    // OUT: TEXT            one line of expected output
    // ALSO: FILE           a further source file to compile, relative to this one
    // NEEDS: N             clang N or newer; skipped otherwise
    // EXPECT: failure      the test must fail: proof that the harness notices

In FLAGS, %S is the directory of the file. Each *_test.py file holds functions test_* that take a
`Context` and raise AssertionError. Ends with `N passed, M failed` and exit code 1 if M > 0.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TIMEOUT = 120  # seconds for one command


class Context:
    """What a test works with: the tools, and a directory of its own."""

    def __init__(self, options, directory):
        self.clang, self.plugin, self.driver = options.clang, options.plugin, options.driver
        self.flags = ["-std=c++20", *shlex.split(options.flags)]
        self.link_flags = shlex.split(options.link_flags)
        self.version = options.version
        self.directory = pathlib.Path(directory)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *command, expect=0, env=None):
        """Standard output and error of a command, which must end with exit code `expect`."""
        words = [str(word) for word in command]
        result = subprocess.run(words, cwd=self.directory, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                                check=False, env=dict(os.environ, **(env or {})))
        if expect is not None:
            assert result.returncode == expect, (
                f"exit code {result.returncode}, not {expect}: {shlex.join(words)}\n"
                f"{result.stdout}{result.stderr}")
        return result

    def compile(self, *arguments, expect=0):
        return self.run(self.clang, *self.flags, "-fplugin=" + self.plugin, *arguments,
                        expect=expect)

    def cppless(self, *arguments, expect=0, env=None):
        tools = {"CPPLESS_PLUGIN": self.plugin, "CPPLESS_CLANG": self.clang}
        return self.run(self.driver, *self.flags, *arguments, expect=expect,
                        env=dict(tools, **(env or {})))


class Case:
    """A source file with directives."""

    def __init__(self, path):
        self.path = path
        self.runs, self.lines, self.also = [], [], []
        self.needs, self.must_fail = 0, False
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.match(r"// (RUN|OUT|ALSO|NEEDS|EXPECT): ?(.*)", line)
            if not match:
                continue
            kind, text = match.groups()
            if kind == "RUN":
                words = shlex.split(text.replace("%S", str(path.parent)))
                self.runs.append((words[0], words[1:]))
            elif kind == "OUT":
                self.lines.append(text)
            elif kind == "ALSO":
                self.also.append(path.parent / text)
            elif kind == "NEEDS":
                self.needs = int(text)
            elif text.strip() == "failure":
                self.must_fail = True

    def check(self, context, kind, flags):
        if kind == "verify":
            context.compile("-Xclang", "-verify", "-fsyntax-only", *flags, self.path)
            return
        if kind == "output":
            context.compile(*flags, self.path, *self.also, "-o", "program", *context.link_flags)
            printed = context.run("./program").stdout.splitlines()
        elif kind == "driver":
            context.cppless(*flags, self.path, *self.also)
            printed = self.run_all(context)
        else:
            raise AssertionError(f"unknown kind of RUN line: '{kind}'")
        assert printed == self.lines, "printed:\n{}\nexpected:\n{}".format(
            "\n".join(printed), "\n".join(self.lines))

    @staticmethod
    def run_all(context):
        manifest = json.loads((context.directory / "a.out.json").read_text(encoding="utf-8"))
        names = ["a.out"] + [entry["filename"] for entry in manifest["entry_points"]]
        return [f"{name}: {line}" for name in names
                for line in context.run("./" + name).stdout.splitlines()]


def tests_in(directory):
    """(name, needed clang version, function taking a Context, whether it must fail)"""
    for path in sorted(directory.glob("*.cpp")):
        case = Case(path)
        assert case.runs, f"{path} has no RUN line"
        for kind, flags in case.runs:
            name = shlex.join([f"{directory.name}/{path.name}:", kind, *flags])
            name = name.replace(str(directory) + "/", "").replace("'", "")
            yield (name, case.needs,
                   lambda context, c=case, k=kind, f=flags: c.check(context, k, f), case.must_fail)
    for path in sorted(directory.glob("*_test.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                sentence = name[len("test_"):].replace("_", " ")
                yield f"{directory.name}/{path.name}: {sentence}", 0, function, False


def run_one(options, test):
    """(line to print, whether it passed; None if it was skipped)"""
    name, needs, function, must_fail = test
    if needs > options.version:
        return f"skipped {name} (needs clang {needs})", None
    problem = None
    with tempfile.TemporaryDirectory(prefix="cppless-test-") as directory:
        try:
            function(Context(options, directory))
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
    if must_fail:
        return ((f"passed  {name} (fails, as it must)", True) if problem else
                (f"FAILED  {name}: it must fail and did not", False))
    return (f"FAILED  {name}\n{problem}", False) if problem else (f"passed  {name}", True)


def major_version(clang):
    text = subprocess.run([clang, "-dumpversion"], text=True, stdout=subprocess.PIPE,
                          check=True).stdout
    return int(text.split(".")[0])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("directories", nargs="+", type=pathlib.Path)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--driver", default="")
    parser.add_argument("--flags", default="", help="further flags for every compilation")
    parser.add_argument("--link-flags", default="", help="further flags for linking, put last")
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.plugin = os.path.abspath(options.plugin)
    options.driver = os.path.abspath(options.driver) if options.driver else "cppless++"
    options.version = major_version(options.clang)
    return options


def main():
    options = parse_arguments()
    tests = [test for directory in options.directories
             for test in tests_in(directory.resolve()) if options.filter in test[0]]
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, passed in pool.map(lambda test: run_one(options, test), tests):
            print(line, flush=True)
            outcomes.append(passed)
    if None in outcomes:
        print(f"{outcomes.count(None)} skipped")
    print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if outcomes and False not in outcomes else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The local cloud for functions that do nothing: in C++, in Python, in Go with AWS's runtime; and
local clouds of others with the one in C++.

  warm/1      latency of one invocation after the other, every request's signature checked
  warm/64     invocations per second with 64 in flight
  cold        from before the Invoke is sent to the function's first instruction
"""

import argparse
import contextlib
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# This folder last, or this file would be taken for the standard library's module `platform`.
sys.path[0] = str(HERE.parent)
sys.path.append(str(HERE))

import harness  # noqa: E402
import local_clouds  # noqa: E402

ROOT = HERE.parents[1]
COLD_STARTS = 20  # for one sample, their median
PAUSE = 0.02  # between two, in which the first function ends
OURS = "cppless platform"


def say_left_out(what, why):
    print(f"   {what} is left out: {why}", flush=True)


def build_go(folder):
    """The Go function's program, or None after saying why there is none."""
    if not shutil.which("go"):
        return say_left_out("Go", "go is not installed")
    program = folder / "go_function"
    shutil.copytree(HERE / "go_function", folder / "go")
    environment = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local")
    done = subprocess.run(["go", "build", "-ldflags=-s -w", "-o", program, "."], cwd=folder / "go", env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return say_left_out("Go", f"go build failed: {done.stderr.strip()[-300:]}")
    return program


def find_functions(build, folder):
    """Name of the implementation to its bootstrap."""
    found = {OURS: pathlib.Path(build) / "benchmarks" / "bench_platform_function"}
    if pathlib.Path("/usr/bin/python3").exists():
        found["Python function"] = HERE / "function.py"
    else:
        say_left_out("Python", "/usr/bin/python3 is not there")
    program = build_go(folder)
    if program:
        found["Go function"] = program
    return found


def start_peers(build, program, ends):
    """Those that can be had, with the function that does nothing."""
    found = []
    for kind in (local_clouds.MotoWithEmulators, local_clouds.CargoLambda):
        try:
            peer = kind(build)
            ends.callback(peer.close)
            peer.begin(program)
            found.append(peer)
        except (unittest.SkipTest, AssertionError, OSError) as error:
            say_left_out(kind.NAME, error)
    return found


def create_functions(platform, functions):
    for name, program in functions.items():
        platform.create("warm-" + name.split()[0], program, {})
        platform.create("cold-" + name.split()[0], program, {"ONCE": "1"})


def start_cold(platform, name):
    times = []
    for _ in range(COLD_STARTS):
        time.sleep(PAUSE)
        times.append(platform.start_cold(f"cold-{name.split()[0]}"))
    return sorted(times)[COLD_STARTS // 2]


def measure_warm(suite, wanted, platform, functions, peers):
    """Of `functions` on our platform, and of peers with the first of them."""
    for case, unit, in_flight, count, column in (("warm/1", "us", 1, 3000, 0), ("warm/64", "1/s", 64, 10000, 2)):
        if case not in wanted:
            continue
        # 64 others at once would compare the machine's memory and processors.
        names = [OURS] if in_flight > 1 else functions
        measures = [(name, functools.partial(platform.warm, f"warm-{name.split()[0]}", in_flight, count)) for name in names]
        measures += [(peer.NAME, functools.partial(peer.measure, in_flight, count // 10)) for peer in peers]
        suite.compare(case, unit, OURS, [(name, lambda measure=measure: measure()[column]) for name, measure in measures])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build" / "bench")
    parser.add_argument("--compiler", help="is not needed")
    suite = harness.Suite("platform", parser)
    wanted = [case for case in ("warm/1", "warm/64", "cold") if suite.wants(case)]
    if not wanted:
        return 0
    build = pathlib.Path(suite.options.build)
    if not (build / "platform" / "cppless-platform").exists():
        say_left_out("all", "the local cloud is not built (tools/setup platform)")
        return 0
    with contextlib.ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="cppless-bench-"))
        functions = find_functions(build, pathlib.Path(folder))
        platform = local_clouds.Platform(build)
        ends.callback(platform.close)
        create_functions(platform, functions)
        peers = start_peers(build, functions[OURS], ends) if wanted != ["cold"] else []
        measure_warm(suite, wanted, platform, functions, peers)
        if "cold" in wanted:
            suite.compare("cold", "ms", OURS, [(name, functools.partial(start_cold, platform, name)) for name in functions])
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Uses cppless from another project: add_subdirectory and find_package, Debug and Release, static and
shared, clang with the plugin and g++ without. Each case builds tests/install/consumer and runs it.

The library is built once per case, inside the consumer's build; the package is installed from there
and then moved, because an installed package must not depend on where it was made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "cli"))
from tests import peers  # noqa: E402

EXPECTED = "42 1764 elsewhere\n"


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Case:
    kind: str
    linkage: str
    work: Path
    plugin: Path

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.linkage}"

    @property
    def subdirectory(self) -> Path:
        return self.work / self.name / "subdirectory"

    @property
    def prefix(self) -> Path:
        return self.work / self.name / "moved here"


def run(*words: str | Path) -> str:
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=900)
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: status {result.returncode}\n{result.stdout[-4000:]}")
    return result.stdout


def consume(build: Path, kind: str, compiler: str, *options: str) -> None:
    """Configures and builds the consumer, runs its program."""
    run("cmake", "-S", HERE / "consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={kind}",
        f"-DCMAKE_CXX_COMPILER={compiler}", *options)
    run("cmake", "--build", build)
    output = run(build / "program")
    if output != EXPECTED:
        raise Failure(f"{build / 'program'} printed {output!r}, not {EXPECTED!r}")


def add_subdirectory(case: Case) -> None:
    shared = "ON" if case.linkage == "shared" else "OFF"
    consume(case.subdirectory, case.kind, "clang++-19", f"-DCPPLESS_SOURCE={ROOT}",
            f"-DBUILD_SHARED_LIBS={shared}", f"-DCPPLESS_PLUGIN_FILE={case.plugin}", "-DCPPLESS_INSTALL=ON")


def install(case: Case) -> None:
    first = case.work / case.name / "installed"
    for directory in (first, case.prefix):
        shutil.rmtree(directory, ignore_errors=True)
    run("cmake", "--install", case.subdirectory, "--prefix", first)
    first.rename(case.prefix)
    for file in case.prefix.rglob("*.cmake"):
        if str(case.work) in file.read_text("utf-8") or str(ROOT / "library") in file.read_text("utf-8"):
            raise Failure(f"{file} names a directory of the machine that made it")


def find_package(case: Case) -> None:
    build = case.work / case.name / "package"
    shutil.rmtree(build, ignore_errors=True)
    consume(build, case.kind, "clang++-19", f"-DCMAKE_PREFIX_PATH={case.prefix}")


def find_package_without_plugin(case: Case) -> None:
    build = case.work / case.name / "package-g++"
    shutil.rmtree(build, ignore_errors=True)
    consume(build, case.kind, "g++-12", f"-DCMAKE_PREFIX_PATH={case.prefix}")


def serverless(case: Case) -> None:
    """Builds, deploys and runs a program of another project whose tasks run on a local cloud."""
    build = case.work / case.name / "serverless"
    shutil.rmtree(build, ignore_errors=True)
    run("cmake", "-S", HERE / "serverless", "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={case.kind}",
        "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_PREFIX_PATH={case.prefix}")
    with peers.local_cloud() as cloud:
        os.environ |= cloud.environment()
        output = run("cmake", "--build", build, "--target", "run_serverless_remote")
        again = run("cmake", "--build", build, "--target", "serverless_remote")
    if not re.search(r"^42 from remote-[0-9a-f]{16}$", output, re.M):
        raise Failure(f"the task did not run in its function:\n{output}")
    if "1 unchanged" not in again:
        raise Failure(f"deploying again changed something:\n{again}")


def serverless_with_musl(case: Case) -> None:
    """The same with functions that are linked with musl: a host built as ever finds them."""
    host, build = case.work / case.name / "serverless", case.work / case.name / "serverless-musl"
    shutil.rmtree(build, ignore_errors=True)
    cache = ["env", f"XDG_CACHE_HOME={peers.CACHE.parent}"]  # zig takes minutes
    ran = subprocess.run([*cache, ROOT / "cppless", "musl-toolchain"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if "cannot be had from PyPI" in ran.stdout:
        print(f"   without musl: {ran.stdout.strip().splitlines()[-1]}")
        return
    run(*cache, "cmake", "-S", HERE / "serverless", "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={case.kind}",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/tools/cmake/CpplessMusl.cmake")
    with peers.local_cloud() as cloud:
        os.environ |= cloud.environment()
        run(*cache, "cmake", "--build", build, "--target", "serverless_remote")
        output = run("env", "CPPLESS_DISPATCHER=lambda", "CPPLESS_FUNCTION_PREFIX=remote", host / "remote")
    size = json.loads((build / "remote.functions" / "functions.json").read_text("utf-8"))["functions"][0]["size"]
    usual = json.loads((host / "remote.functions" / "functions.json").read_text("utf-8"))["functions"][0]["size"]
    if not re.search(r"^42 from remote-[0-9a-f]{16}$", output, re.M) or size > usual / 2:
        raise Failure(f"the task did not run in a function with musl ({size} bytes, {usual} without):\n{output}")


def too_new_a_version_is_refused(case: Case) -> None:
    """The case that must fail: else nothing above was tested."""
    source = case.work / case.name / "refused"
    source.mkdir(exist_ok=True)
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES CXX)\n"
        "find_package(cppless 99 REQUIRED)\n", "utf-8")
    try:
        run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={case.prefix}", "-DCMAKE_CXX_COMPILER=clang++-19")
    except Failure as failure:
        if "99" in str(failure):
            return
    raise Failure("find_package(cppless 99) found something")


def steps_of(case: Case) -> list[Callable[[Case], None]]:
    steps = [add_subdirectory, install, find_package]
    if case.kind == "Release":
        steps.append(find_package_without_plugin)
    if case.name == "Release-static":
        steps += [serverless, serverless_with_musl, too_new_a_version_is_refused]
    return steps


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--plugin", type=Path, required=True, help="a built cppless-plugin.so")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "install", help="where to build")
    options = parser.parse_args(words)
    passed = failed = 0
    for kind in ("Release", "Debug"):
        for linkage in ("static", "shared"):
            case = Case(kind, linkage, options.work.resolve(), options.plugin.resolve())
            for step in steps_of(case):
                try:
                    step(case)
                    passed += 1
                    print(f"{case.name}: {step.__name__}: ok", flush=True)
                except (Failure, subprocess.TimeoutExpired) as failure:
                    failed += 1
                    print(f"{case.name}: {step.__name__}: {failure}", flush=True)
    print(f"test cases: {passed + failed} | {passed} passed | {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

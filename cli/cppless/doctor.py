# SPDX-License-Identifier: Apache-2.0
"""What is there, what is missing, how to mend it."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import VERSION, cache, packages
from .problem import Problem
from .process import run_tool
from .toolchain import COMPILER, LINKER, expected

SYSCALL_FUTEX = {"x86_64": 202, "aarch64": 98}


@dataclass(frozen=True)
class Finding:
    what: str
    state: str
    mend: str = ""  # set: this blocks


def examine() -> int:
    """Prints one line per finding; 1 if something blocks."""
    findings: list[Finding] = [Finding("cppless", VERSION)]
    for check in (system, python, tools, libraries, missing_packages, cache_state, plugin, kernel, cores):
        findings += check()
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = "no" if finding.mend else "ok"
        print(f"{mark}  {finding.what:{width}}  {finding.state}")
        if finding.mend:
            print(f"    {'':{width}}  mend: {finding.mend}")
    blocking = sum(1 for finding in findings if finding.mend)
    print("everything is there" if blocking == 0
          else f"{blocking} thing{'s' if blocking > 1 else ''} to mend")
    return 1 if blocking else 0


def system() -> list[Finding]:
    release = "unknown system"
    try:
        match = re.search(r'^PRETTY_NAME="?([^"\n]*)', Path("/etc/os-release").read_text("utf-8"), re.M)
        release = match.group(1) if match else release
    except OSError:
        pass
    return [Finding("system", f"{release}, Linux {platform.release()}, {platform.machine()}")]


def python() -> list[Finding]:
    return [Finding("python", f"{platform.python_version()}, {sys.executable}")]


def tools() -> list[Finding]:
    found = []
    for tool in (COMPILER, LINKER, "cmake", "ninja"):
        path = shutil.which(tool)
        if path is not None:
            match = re.search(r"\d+\.\d+[\w.]*", run_tool([tool, "--version"]).stdout)
            found.append(Finding(tool, f"{match.group(0) if match else 'unknown version'}, {path}"))
    return found


def libraries() -> list[Finding]:
    found = []
    for name, header, macros in (
            ("cereal", "cereal/version.hpp", ("MAJOR", "MINOR", "PATCH")),
            ("boost", "boost/version.hpp", ("BOOST_LIB_VERSION",))):
        for directory in (Path("/usr/local/include"), Path("/usr/include")):
            if (directory / header).is_file():
                text = (directory / header).read_text("utf-8", "replace")
                numbers = [re.search(rf'#define \w*{macro} "?([\w]+)', text) for macro in macros]
                version = ".".join(number.group(1) for number in numbers if number).replace("_", ".")
                found.append(Finding(name, f"{version}, {directory / header}"))
                break
    return found


def missing_packages() -> list[Finding]:
    missing = packages.missing("run")
    if not missing:
        return []
    command = packages.install_command("run")
    return [Finding(package, f"missing: {why}", command) for package, why in missing]


def cache_state() -> list[Finding]:
    try:
        directory = cache.directory()
    except Problem as problem:
        return [Finding("cache", str(problem), "set XDG_CACHE_HOME to a directory that can be written")]
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return [Finding("cache", f"{directory}, {size / 1e6:.1f} MB")]


def plugin() -> list[Finding]:
    if shutil.which(COMPILER) is None:
        return []
    try:
        toolchain = expected(run_tool([COMPILER, "--version"]).stdout.partition("\n")[0])
    except Problem:
        return []
    if not cache.is_complete(toolchain.prefix):
        return [Finding("plugin", "not built yet; the first `cppless run` builds it")]
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "probe.cpp"
        source.write_text("#ifndef __CPPLESS_PLUGIN__\n#error the plugin is not active\n#endif\n", "utf-8")
        result = run_tool([COMPILER, "-fsyntax-only", *toolchain.compile_flags(Path(directory)),
                           str(source)])
    if result.returncode == 0:
        return [Finding("plugin", f"loads into {COMPILER}, {toolchain.plugin}")]
    return [Finding("plugin", (result.stdout.strip() or "does not load").splitlines()[0],
                    f"rm -r {toolchain.prefix}  # the next `cppless run` builds it again")]


def kernel() -> list[Finding]:
    probes: tuple[tuple[str, str, Callable[[], None]], ...] = (
        ("memfd", "memfd_create (Linux 3.17)", _probe_memfd),
        ("pidfd", "pidfd_open (Linux 5.3)", _probe_pidfd),
        ("futex", "futex", _probe_futex))
    return [_probe(*probe) for probe in probes]


def _probe(what: str, needs: str, probe: Callable[[], None]) -> Finding:
    try:
        probe()
    except (OSError, AttributeError) as error:
        return Finding(what, f"{needs} does not work: {error}",
                       "use a newer kernel, or allow the call in the container's seccomp profile")
    return Finding(what, "works")


def _probe_memfd() -> None:
    os.close(os.memfd_create("cppless-doctor"))


def _probe_pidfd() -> None:
    os.close(os.pidfd_open(os.getpid()))


def _probe_futex() -> None:
    number = SYSCALL_FUTEX.get(platform.machine())
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    word, wake = ctypes.c_uint32(0), 1
    if libc.syscall(number, ctypes.byref(word), wake, 1, None, None, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def cores() -> list[Finding]:
    return [Finding("cores", f"{len(os.sched_getaffinity(0))}, the default number of workers")]

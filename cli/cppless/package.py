# SPDX-License-Identifier: Apache-2.0
"""One executable and one zip per task of a program, linked from the program's own objects.

functions/<objects, flags, toolchain, task>/{bootstrap, function.zip, how}

A function holds what its task needs: the linker starts from the task's root symbol and drops the
rest (docs/formats/functions.md). Three links are tried, each only if the one before is not right:
without the standard streams, which many programs include and few tasks use; statically; and
dynamically, with the libraries and their loader in the zip.
"""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from . import cache, musl, toolchain
from .problem import Problem
from .process import run_tool
from .progress import Progress
from .summary import count

FORMAT = "5"  # of the cache entries
NO_STREAMS = ["-Wl,--wrap=_ZNSt8ios_base4InitC1Ev", "-Wl,--wrap=_ZNSt8ios_base4InitD1Ev"]
STREAMS = re.compile(r" (std::(w?(cin|cout|cerr|clog))|_ZSt[34]w?(cin|cout|cerr|clog))$|"
                     rf"\b{re.escape(musl.NO_STREAMS)}:\(", re.M)
DISPATCHES = re.compile(r" cppless::default_dispatcher::create_instance\(\) const$", re.M)
AWS_DISPATCHER = "-Wl,-u,cppless_create_aws_instance"
HTTP_LIBRARIES = ["-Wl,--push-state,--as-needed", "-lnghttp2", "-lssl", "-lcrypto", "-Wl,--pop-state"]
SHARED = re.compile(r"^[^-].*\.so(\.\d+)*$")
LOADER = re.compile(r"/ld-linux[^/]*\.so\.\d+$")
START_DYNAMIC = """#!/bin/sh
here=${LAMBDA_TASK_ROOT:-$(dirname "$0")}
exec "$here/lib/%s" --library-path "$here/lib" "$here/function" "$@"
"""
UNPACKED_LIMIT = 262_144_000  # AWS: 250 MB


@dataclass(frozen=True)
class Task:
    """docs/formats/tasks.md"""

    identity: str
    root_symbol: str
    name: str
    memory_mb: int | None = None
    timeout_s: int | None = None
    ephemeral_storage_mb: int | None = None


@dataclass(frozen=True)
class Package:
    task: Task
    bootstrap: Path
    archive: Path
    linkage: str  # "static" or "dynamic"
    size: int  # bytes, unpacked
    zipped: int
    sha256: str  # of the zip, in base64 as AWS says it


def tasks_of(executable: Path) -> list[Task]:
    with tempfile.NamedTemporaryFile(prefix="cppless-tasks-") as file:
        environment = {**os.environ, "CPPLESS_LIST_TASKS": file.name}
        try:
            ran = subprocess.run([str(executable)], env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, text=True,
                                 errors="replace")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Problem(f"{executable} does not list its tasks ({error})") from error
        try:
            document = json.loads(Path(file.name).read_text("utf-8"))
            known = Task.__dataclass_fields__
            return [Task(**{name: value for name, value in task.items() if name in known})
                    for task in document["tasks"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Problem(f"{executable} does not list its tasks (status {ran.returncode}"
                          f"{', ' + ran.stdout.strip()[-300:] if ran.stdout.strip() else ''})",
                          "was it linked with cppless?") from error


def check_same(tasks: Sequence[Task], others: Sequence[Task]) -> None:
    """That a program's tasks are the same with musl's libc++, where a few types are others: durations
    count in `long long`, the system clock in microseconds."""
    names = {task.identity: task.name for task in tasks}
    for other in others:
        if other.identity not in names:
            raise Problem(f"with musl's C++ library another task takes the place of one here: {other.name}",
                          "let its types not differ between C++ libraries, or use the toolchain native")


def package(tasks: Sequence[Task], link: Sequence[str], toolchain: str, progress: Progress) -> list[Package]:
    """A package of each task. `link` is the command that links the program; in parallel."""
    if not tasks:
        return []
    entries = _entries(tasks, link, toolchain)
    missing = [task for task, entry in zip(tasks, entries) if not cache.is_complete(entry)]
    if missing:
        with progress.step(f"packaging {count(len(missing), 'function')}"), \
                concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(lambda task, entry: cache.fill(
                entry, lambda _: _make(task, link, entry, progress), progress), tasks, entries))
        cache.remove_unused(cache.directory() / "functions")
    return [_package(task, entry) for task, entry in zip(tasks, entries)]


def _entries(tasks: Sequence[Task], link: Sequence[str], toolchain: str) -> list[Path]:
    inputs = _inputs(link)
    words = [word for word in link if not os.path.isfile(word)]
    return [cache.directory() / "functions" / cache.content_hash(
        [FORMAT, toolchain, task.root_symbol, *inputs, *words]) for task in tasks]


def _inputs(link: Sequence[str]) -> list[str]:
    """What the link reads, by content."""
    files = [Path(word) for word in link[1:] if not word.startswith("-") and os.path.isfile(word)]
    files += [file.with_name("libcppless_function_main.a") for file in files
              if file.name == "libcppless_main.a"]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


def _package(task: Task, entry: Path) -> Package:
    cache.mark_used(entry)
    archive = entry / "function.zip"
    data = archive.read_bytes()
    size = sum(info.file_size for info in zipfile.ZipFile(archive).infolist())
    return Package(task, entry / "files" / "bootstrap", archive,
                   (entry / "how").read_text("ascii"), size, len(data),
                   base64.b64encode(hashlib.sha256(data).digest()).decode())


def _make(task: Task, link: Sequence[str], entry: Path, progress: Progress) -> None:
    files = entry / "files"
    files.mkdir()
    how = "static"
    complaint = _link_static(task, link, files / "bootstrap", entry / "map", progress)
    if complaint and musl.is_for_musl(link):
        if "cppless_create_aws_instance" in complaint:
            complaint = "it dispatches tasks itself, and OpenSSL and nghttp2 are not there for musl"
        raise Problem(f"cannot link the function of task {task.name} with musl: {complaint}",
                      "use the toolchain native")
    if complaint:
        how = "dynamic"
        _link_dynamic(task, link, files, complaint, progress)
    size = sum(file.stat().st_size for file in files.rglob("*") if file.is_file())
    if size > UNPACKED_LIMIT:
        raise Problem(f"the function of task {task.name} takes {size:,} bytes unpacked; the limit of AWS "
                      f"Lambda is {UNPACKED_LIMIT:,}")
    _zip(files, entry / "function.zip")
    (entry / "map").unlink(missing_ok=True)
    (entry / "how").write_text(how, "ascii")


def function_link(link: Sequence[str], task: Task, output: Path, all_tasks: bool = False) -> list[str]:
    """The program's link command made into the one of a function; without a word on static or not."""
    main = "cppless_any_function_main" if all_tasks else "cppless_function_main"
    words: list[str] = []
    skip = False
    for word in link:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word in ("-s", "-rdynamic", "-pie", "-no-pie", "-Wl,-z,nostart-stop-gc", AWS_DISPATCHER,
                      toolchain.FIBER_DISPATCHER) \
                or word.startswith(("-fuse-ld=", "-Wl,--dependency-file", "-Wl,-rpath", "-Wl,-Map")):
            pass
        elif word.startswith("-Wl,--push-state,--as-needed,/"):
            words += HTTP_LIBRARIES  # by path, and shared: from cppless::dependencies
        elif word == "-lcppless_main":
            words.append(f"-l{main}")
        elif word.endswith("libcppless_main.a"):
            words.append(word[:-len("libcppless_main.a")] + f"lib{main}.a")
        elif SHARED.search(word):
            # By name: a path would be looked up as such where the function runs.
            words += [f"-L{os.path.dirname(os.path.abspath(word))}", f"-l:{os.path.basename(word)}"]
        else:
            words.append(word)
    words += ["-fuse-ld=lld", "-Wl,--wrap=main", "-Wl,--gc-sections", "-Wl,--build-id=none", "-s", "-o", str(output)]
    if all_tasks:
        words.append("-Wl,-z,nostart-stop-gc")
    else:
        words += ["-Wl,-z,start-stop-gc", f"-Wl,--defsym=cppless_function_entry={task.root_symbol}"]
    return words


def _link_static(task: Task, link: Sequence[str], output: Path, map_file: Path, progress: Progress) -> str:
    """The linker's complaint; empty if all went well."""
    if any(SHARED.search(word) for word in link):
        return "it is linked with shared libraries"
    for all_tasks in (False, True):
        form = "-static" if musl.is_for_musl(link) else "-static-pie"
        words = function_link(link, task, output, all_tasks) + [form, f"-Wl,-Map={map_file}"]
        lean = words if all_tasks else _without_streams(words)
        complaint = _run(lean, progress)
        if complaint:
            if task.root_symbol in complaint and not all_tasks and not musl.is_for_musl(link):
                continue  # compiled without the plugin
            return complaint
        kept = map_file.read_text("utf-8", "replace")
        more = [AWS_DISPATCHER] if DISPATCHES.search(kept) else []
        if more:
            complaint = _run(lean + more, progress)
            kept = kept if complaint else map_file.read_text("utf-8", "replace")
        if not complaint and lean != words and STREAMS.search(kept):
            complaint = _run(words + more, progress)
        return complaint
    return ""


def _without_streams(words: list[str]) -> list[str]:
    if musl.is_for_musl(words):  # before all others: what is there is not taken from libc++
        return [words[0], f"-l:{musl.NO_STREAMS}", *words[1:]]
    return words + NO_STREAMS


def _link_dynamic(task: Task, link: Sequence[str], files: Path, complaint: str, progress: Progress) -> None:
    executable = files / "function"
    for all_tasks in (False, True):
        failed = _run(function_link(link, task, executable, all_tasks) + ["-pie"] + rpaths(link), progress)
        if not failed:
            break
        if task.root_symbol not in failed or all_tasks:
            raise Problem(f"cannot link the function of task {task.name}; statically: {complaint}\n"
                          f"dynamically: {failed}")
    library = files / "lib"
    library.mkdir()
    loader = ""
    for path in needed_libraries(executable):
        shutil.copyfile(path, library / path.name)
        (library / path.name).chmod(0o755)
        if LOADER.search(str(path)):
            loader = path.name
    if not loader:
        raise Problem(f"the function of task {task.name} cannot be linked statically ({complaint.strip()}), "
                      f"and its loader was not found")
    (files / "bootstrap").write_text(START_DYNAMIC % loader, "ascii")
    (files / "bootstrap").chmod(0o755)


def rpaths(link: Sequence[str]) -> list[str]:
    """So that ldd finds the libraries that the program was linked with by path."""
    directories = dict.fromkeys(os.path.dirname(os.path.abspath(word)) for word in link
                                if SHARED.search(word))
    return [f"-Wl,-rpath,{directory}" for directory in directories]


def needed_libraries(executable: Path) -> list[Path]:
    """The shared libraries `executable` needs, with those that they need, and the loader."""
    listed = run_tool(["ldd", str(executable)])
    missing = re.findall(r"^\s*(\S+) => not found", listed.stdout, re.M)
    if listed.returncode != 0 or missing:
        raise Problem(f"libraries that {executable.name} needs are not found: {', '.join(missing)}"
                      if missing else f"ldd {executable} failed: {listed.stdout.strip()}")
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/.+) \(0x", listed.stdout, re.M)]


def _run(words: Sequence[str], progress: Progress) -> str:
    progress.command(list(words))
    result = run_tool(words)
    return "" if result.returncode == 0 else result.stdout.strip() or f"status {result.returncode}"


def _zip(files: Path, archive: Path) -> None:
    """The same bytes for the same files: no times, no owners, names in order."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(path for path in files.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(file.relative_to(files)), (1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix, so that the mode counts
            info.external_attr = (0o100755 if os.access(file, os.X_OK) else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, file.read_bytes())


def report(packages: Sequence[Package]) -> list[str]:
    """One line per function: bytes, zipped bytes, name."""
    return [f"{item.size:>12,} {item.zipped:>12,}  {item.linkage:7}  {item.task.identity}  {item.task.name}"
            for item in packages]

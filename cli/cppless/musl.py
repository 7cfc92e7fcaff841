# SPDX-License-Identifier: Apache-2.0
"""The musl sysroot: libc, libc++ and their headers, for functions that are smaller and start faster.

Debian's musl has no C++ library; the ziglang package of PyPI carries both as sources. Its release 0.14
has LLVM 19's libc++, whose headers are those of our compiler's version, so that the plugin stays in
use: zig builds the libraries here once, and is gone afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Sequence

from . import cache, packages
from .problem import Problem
from .process import run_tool
from .progress import Progress

ZIG = "0.14.1"
FORMAT = "3"  # of the sysroot
TRIPLE = "x86_64-linux-musl"
HEADERS = ("any-linux-any", "x86-linux-any", "generic-musl", TRIPLE)  # later ones replace earlier ones
OURS = ("cereal", "boost")  # header-only, and not to be looked for beside glibc's headers
# How zig builds libc++ and compiles against it; std::stop_token is one of its experimental parts.
DEFINITIONS = ("_LIBCPP_ENABLE_EXPERIMENTAL", "_LIBCPP_HAS_MUSL_LIBC", "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
               "_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS", "_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS",
               "_LIBCPP_PSTL_BACKEND_SERIAL", "_LIBCPP_ABI_VERSION=1", "_LIBCPP_ABI_NAMESPACE=__1",
               "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE")
# libc++ makes its streams where they are defined; whoever uses none of them does without that file.
STREAMS = ("3cin", "4cout", "4cerr", "4clog", "4wcin", "5wcout", "5wcerr", "5wclog")
NO_STREAMS = "no_streams.o"
LIBRARIES = ("c++", "c++abi", "unwind", "c", "compiler_rt")


def sysroot() -> Path:
    return cache.directory() / "musl" / cache.content_hash([FORMAT, ZIG, TRIPLE])


def flags() -> list[str]:
    """What makes the compiler compile and link for the sysroot."""
    return [f"--target={TRIPLE}", f"--config={sysroot() / 'clang.cfg'}"]


def is_for_musl(link: Sequence[str]) -> bool:
    return f"--target={TRIPLE}" in link


def ensure(compiler: str, progress: Progress) -> Path:
    where = sysroot()
    if not cache.is_complete(where):
        if os.uname().machine != "x86_64":
            raise Problem(f"the toolchain musl is for x86_64, this machine is {os.uname().machine}")
        if importlib.util.find_spec("pip") is None:
            packages.ensure("musl")
        with progress.step("building musl and libc++ from PyPI's ziglang (once, some minutes)"):
            cache.fill(where, lambda entry: _make(entry, compiler, progress), progress)
        cache.remove_unused(where.parent)
    cache.mark_used(where)
    return where


def _make(entry: Path, compiler: str, progress: Progress) -> None:
    work = entry / "work"
    work.mkdir()
    zig = _fetch(work, progress)
    headers, libraries = entry / "usr" / "include", entry / "usr" / "lib"
    libraries.mkdir(parents=True)
    for part in ("libcxx", "libcxxabi"):
        shutil.copytree(zig.parent / "lib" / part / "include", headers / "c++" / "v1", dirs_exist_ok=True)
    for part in HEADERS:
        shutil.copytree(zig.parent / "lib" / "libc" / "include" / part, headers, dirs_exist_ok=True)
    for name in OURS:
        (headers / name).symlink_to(Path("/usr/include") / name)
    for file in _built_by(zig, work, progress):
        shutil.copy2(file, libraries)
    _make_no_streams(compiler, libraries / NO_STREAMS, work)
    # zig's compiler_rt lacks what __builtin_cpu_supports asks.
    shutil.copy2(run_tool([compiler, "--rtlib=libgcc", "-print-libgcc-file-name"]).stdout.strip(), libraries)
    words = [f"--sysroot={entry}", "-stdlib=libc++", *(f"-D{name}" for name in DEFINITIONS), "-static",
             "-nostdlib", "-Wno-unused-command-line-argument", "-l:crt1.o",
             *(f"-l{name}" for name in LIBRARIES), "-lgcc"]
    (entry / "clang.cfg").write_text("\n".join(words) + "\n", "utf-8")
    shutil.rmtree(work)


def _make_no_streams(compiler: str, file: Path, work: Path) -> None:
    """An object that defines the streams' symbols, each in a section that can be dropped alone."""
    source = work / "no_streams.s"
    symbols = [f"_ZNSt3__1{name}E" for name in STREAMS]
    source.write_text("".join(f'.section .bss.{name},"aw",@nobits\n.globl {name}\n{name}: .zero 1\n'
                              for name in symbols), "ascii")
    result = run_tool([compiler, f"--target={TRIPLE}", "-c", str(source), "-o", str(file)])
    if result.returncode != 0:
        raise Problem(f"cannot assemble {NO_STREAMS}:\n{result.stdout.strip()}")


def _fetch(work: Path, progress: Progress) -> Path:
    """The zig program, beside which are its sources."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
             "--dest", str(work), f"ziglang=={ZIG}"]
    progress.command(words)
    result = run_tool(words)
    if result.returncode != 0:
        raise Problem(f"ziglang cannot be had from PyPI:\n{result.stdout.strip()}",
                      "the toolchain native needs nothing from there")
    with zipfile.ZipFile(next(work.glob("ziglang-*.whl"))) as archive:
        archive.extractall(work)
    zig = work / "ziglang" / "zig"
    zig.chmod(0o755)
    return zig


def _built_by(zig: Path, work: Path, progress: Progress) -> list[Path]:
    """The libraries and crt1.o that zig builds to link a C++ program, by what it says of that link."""
    source = work / "program.cpp"
    source.write_text("#include <string>\nint main(int n, char** w) { throw std::string(w[n - 1]); }\n", "ascii")
    words = ["env", f"ZIG_GLOBAL_CACHE_DIR={work / 'zig'}", f"ZIG_LOCAL_CACHE_DIR={work / 'zig'}",
             "ZIG_VERBOSE_LINK=1", str(zig), "c++", "-target", TRIPLE, "-O2", str(source), "-o", str(work / "program")]
    progress.command(words)
    result = run_tool(words)
    files = [Path(file) for file in re.findall(r"\S+/(?:crt1\.o|lib[\w+]+\.a)(?=\s)", result.stdout + "\n")]
    wanted = {"crt1.o", *(f"lib{name}.a" for name in LIBRARIES)}
    if result.returncode != 0 or {file.name for file in files} != wanted:
        raise Problem(f"zig did not build musl and libc++:\n{result.stdout.strip()[-2000:]}")
    return files

# SPDX-License-Identifier: Apache-2.0
"""The cppless plugin and library, built once per content of their sources and compiler version."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from . import cache, musl, packages
from .problem import Problem
from .process import run_tool
from .progress import Progress

LLVM_VERSION = 19
COMPILER = f"clang++-{LLVM_VERSION}"
LINKER = f"ld.lld-{LLVM_VERSION}"
HOST = {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)  # as AWS calls it
TRIPLES = {"arm64": "aarch64-linux-gnu", "x86_64": "x86_64-linux-gnu"}
# Programs have it, functions for Lambda do not: see process/dispatchers.cpp.
FIBER_DISPATCHER = "-Wl,-u,cppless_create_fiber_instance"
MUSL = "musl"  # this machine, with another C and C++ library


@dataclass(frozen=True)
class Toolchain:
    """Where the installed plugin and library are, and how to compile against them."""

    prefix: Path
    target: str = HOST  # or another architecture, or MUSL

    @property
    def name(self) -> str:
        return self.prefix.name

    @property
    def plugin(self) -> Path:
        return self.prefix / "lib" / "cppless" / "cppless-plugin.so"

    @property
    def precompiled_header(self) -> Path:
        """<cppless/cppless.hpp>, compiled: saves 1.8 of the 3.1 s that compiling a small program takes."""
        return self.prefix / "lib" / "cppless" / "cppless.pch"

    def target_flags(self) -> list[str]:
        if self.target == MUSL:
            return musl.flags()
        return [] if self.target == HOST else [f"--target={TRIPLES[self.target]}"]

    def compile_flags(self, source_root: Path) -> list[str]:
        # -fbinutils-version lets a linker drop a function's exception tables with it.
        return [*self.target_flags(), "-std=c++20", "-O2", "-pthread", "-ffunction-sections",
                "-fdata-sections", "-fbinutils-version=2.36", f"-fplugin={self.plugin}",
                f"-fplugin-arg-cppless-source-root={source_root}",
                f"-I{self.prefix / 'include'}"]

    def link_flags(self) -> list[str]:
        flags = ["-fuse-ld=lld", "-Wl,--wrap=main", "-Wl,-z,nostart-stop-gc", FIBER_DISPATCHER,
                 f"-L{self.prefix / 'lib'}", "-lcppless_main", "-lcppless"]
        if self.target == HOST:  # elsewhere there is only what functions need
            flags += ["-Wl,--push-state,--as-needed", "-lnghttp2", "-lssl", "-lcrypto", "-Wl,--pop-state"]
        return flags


def compiler_version() -> str | None:
    """First line of the compiler's --version, e.g. "Debian clang version 19.1.7 (3~deb12u1)"."""
    if shutil.which(COMPILER) is None:
        return None
    return run_tool([COMPILER, "--version"]).stdout.partition("\n")[0]


def expected(version: str, target: str = HOST) -> Toolchain:
    """The toolchain for this compiler and these sources, built or not."""
    parts: list[str | bytes] = [version, target, *(musl.flags() if target == MUSL else [])]
    root = packages.repository()
    for file in sources(root):
        parts += [str(file.relative_to(root)), file.read_bytes()]
    return Toolchain(cache.directory() / "toolchains" / cache.content_hash(parts), target)


def sources(root: Path) -> Iterator[Path]:
    """Every file the plugin and the library are built from."""
    yield root / "CMakeLists.txt"
    for room in ("library", "plugin", "tools/cmake"):
        for directory, subdirectories, files in os.walk(root / room):
            subdirectories.sort()
            for file in sorted(files):
                if file.endswith((".cpp", ".hpp", ".h", ".txt", ".cmake", ".in")) \
                        and not file.endswith("_test.cpp"):
                    yield Path(directory) / file


def ensure(progress: Progress, target: str = HOST) -> Toolchain:
    """Installs what is missing, builds what is not built yet."""
    if target != HOST:
        return _ensure_cross(progress, target)
    version = compiler_version()
    toolchain = expected(version) if version else None
    if toolchain is None or not cache.is_complete(toolchain.prefix):
        packages.ensure("run")
        version = compiler_version()
        if version is None:
            raise Problem(f"{COMPILER} is still not found", "check PATH")
        toolchain = _filled(version, HOST, progress)
        cache.remove_unused(toolchain.prefix.parent)
    cache.mark_used(toolchain.prefix)
    return toolchain


def _ensure_cross(progress: Progress, target: str) -> Toolchain:
    """As `ensure`, for another machine or libc: the same compiler and plugin, a library of its own."""
    host = ensure(progress)
    version = compiler_version() or ""
    if target == MUSL:
        musl.ensure(COMPILER, progress)
    toolchain = expected(version, target)
    if not cache.is_complete(toolchain.prefix):
        if target != MUSL:
            packages.ensure(target)
        toolchain = _filled(version, target, progress, host.plugin)
    cache.mark_used(toolchain.prefix)
    return toolchain


def _filled(version: str, target: str, progress: Progress, plugin: Path | None = None) -> Toolchain:
    for _ in range(3):
        toolchain = expected(version, target)
        cache.fill(toolchain.prefix, lambda entry: _build(toolchain, progress, plugin), progress)
        if expected(version, target) == toolchain:
            return toolchain
        shutil.rmtree(toolchain.prefix)  # edited meanwhile: not what its name says
    raise Problem("the sources of cppless change while they are built", "run it again when they rest")


def _build(toolchain: Toolchain, progress: Progress, plugin: Path | None) -> None:
    """With a `plugin`, for another target than this machine."""
    root, prefix = str(packages.repository()), toolchain.prefix
    work = str(prefix / "build")
    options = _cross_options(toolchain.target, plugin) if plugin else ["-DCPPLESS_BUILD_PLUGIN=ON"]
    what = f"library for {toolchain.target}" if plugin else "plugin and library"
    with progress.step(f"building the cppless {what} (once)"):
        run_cmake([["-S", root, "-B", work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_INSTALL_LIBDIR=lib",
                    f"-DCMAKE_INSTALL_PREFIX={prefix}", *options,
                    "-DBUILD_SHARED_LIBS=OFF", "-DCPPLESS_BUILD_TESTS=OFF",
                    "-DCPPLESS_BUILD_EXAMPLES=OFF"],
                   ["--build", work],
                   ["--install", work, *([] if plugin else ["--strip"])]], "cppless", prefix, progress)
    shutil.rmtree(work, ignore_errors=True)
    if not plugin:
        precompile(toolchain, progress)


def run_cmake(runs: Sequence[Sequence[str]], what: str, prefix: Path, progress: Progress) -> None:
    """CMake once for each list of words. The output of one that fails is kept beside `prefix`."""
    for words in (["cmake", *run] for run in runs):
        progress.command(words)
        result = run_tool(words)
        if result.returncode != 0:
            log = prefix.with_suffix(".log")
            log.write_text(result.stdout, "utf-8", "surrogateescape")
            tail = "\n".join(result.stdout.splitlines()[-30:])
            raise Problem(f"building {what} failed:\n{tail}\n(all of it: {log})")


def _cross_options(target: str, plugin: Path) -> list[str]:
    options = [f"-DCPPLESS_PLUGIN_FILE={plugin}", "-DCPPLESS_FUNCTION_SIDE_ONLY=ON", "-DCMAKE_SYSTEM_NAME=Linux"]
    if target == MUSL:
        triple, config = musl.flags()
        headers = musl.sysroot() / "usr" / "include"
        return [*options, f"-DCMAKE_CXX_COMPILER_TARGET={triple.partition('=')[2]}", f"-DCMAKE_CXX_FLAGS={config}",
                "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld", f"-DCPPLESS_CEREAL_INCLUDE_DIR={headers}",
                f"-DCPPLESS_BOOST_INCLUDE_DIR={headers}"]
    return [*options, f"-DCMAKE_CXX_COMPILER_TARGET={TRIPLES[target]}"]


def precompile(toolchain: Toolchain, progress: Progress) -> bool:
    """Makes the precompiled header; without it, programs only compile more slowly."""
    header, result = toolchain.precompiled_header, toolchain.precompiled_header.with_suffix(f".{os.getpid()}.partial")
    words = [COMPILER, *toolchain.compile_flags(toolchain.prefix), "-fpch-instantiate-templates",
             "-x", "c++-header", str(toolchain.prefix / "include" / "cppless" / "cppless.hpp"),
             "-o", str(result)]
    progress.command(words)
    if run_tool(words).returncode != 0:
        header.unlink(missing_ok=True)
        return False
    result.replace(header)
    return True

# SPDX-License-Identifier: Apache-2.0
"""The cppless plugin and library, built once per content of their sources and compiler version."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from . import cache, packages
from .problem import Problem
from .process import run_tool
from .progress import Progress

LLVM_VERSION = 19
COMPILER = f"clang++-{LLVM_VERSION}"
LINKER = f"ld.lld-{LLVM_VERSION}"
HOST = {"aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)  # as AWS calls it
TRIPLES = {"arm64": "aarch64-linux-gnu", "x86_64": "x86_64-linux-gnu"}


@dataclass(frozen=True)
class Toolchain:
    """Where the installed plugin and library are, and how to compile against them."""

    prefix: Path
    architecture: str = HOST

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
        return [] if self.architecture == HOST else [f"--target={TRIPLES[self.architecture]}"]

    def compile_flags(self, source_root: Path) -> list[str]:
        # -fbinutils-version lets a linker drop a function's exception tables with it.
        return [*self.target_flags(), "-std=c++20", "-O2", "-pthread", "-ffunction-sections",
                "-fdata-sections", "-fbinutils-version=2.36", f"-fplugin={self.plugin}",
                f"-fplugin-arg-cppless-source-root={source_root}",
                f"-I{self.prefix / 'include'}"]

    def link_flags(self) -> list[str]:
        flags = ["-fuse-ld=lld", "-Wl,--wrap=main", "-Wl,-z,nostart-stop-gc",
                 f"-L{self.prefix / 'lib'}", "-lcppless_main", "-lcppless"]
        if self.architecture == HOST:  # elsewhere there is only what functions need
            flags += ["-Wl,--push-state,--as-needed", "-lnghttp2", "-lssl", "-lcrypto", "-Wl,--pop-state"]
        return flags


def compiler_version() -> str | None:
    """First line of the compiler's --version, e.g. "Debian clang version 19.1.7 (3~deb12u1)"."""
    if shutil.which(COMPILER) is None:
        return None
    return run_tool([COMPILER, "--version"]).stdout.partition("\n")[0]


def expected(version: str, architecture: str = HOST) -> Toolchain:
    """The toolchain for this compiler and these sources, built or not."""
    parts: list[str | bytes] = [version, architecture]
    root = packages.repository()
    for file in sources(root):
        parts += [str(file.relative_to(root)), file.read_bytes()]
    return Toolchain(cache.directory() / "toolchains" / cache.content_hash(parts), architecture)


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


def ensure(progress: Progress, architecture: str = HOST) -> Toolchain:
    """Installs what is missing, builds what is not built yet."""
    if architecture != HOST:
        return _ensure_cross(progress, architecture)
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


def _ensure_cross(progress: Progress, architecture: str) -> Toolchain:
    """As `ensure`, for another machine: the same compiler and plugin, a library of its own."""
    host = ensure(progress)
    version = compiler_version() or ""
    toolchain = expected(version, architecture)
    if not cache.is_complete(toolchain.prefix):
        packages.ensure(architecture)
        toolchain = _filled(version, architecture, progress)
        shutil.copy2(host.plugin, toolchain.plugin)
    cache.mark_used(toolchain.prefix)
    return toolchain


def _filled(version: str, architecture: str, progress: Progress) -> Toolchain:
    for _ in range(3):
        toolchain = expected(version, architecture)
        cache.fill(toolchain.prefix, lambda entry: _build(toolchain, progress), progress)
        if expected(version, architecture) == toolchain:
            return toolchain
        shutil.rmtree(toolchain.prefix)  # edited meanwhile: not what its name says
    raise Problem("the sources of cppless change while they are built", "run it again when they rest")


def _build(toolchain: Toolchain, progress: Progress) -> None:
    root, prefix = str(packages.repository()), toolchain.prefix
    work, cross = str(prefix / "build"), toolchain.architecture != HOST
    machine = f" for {toolchain.architecture}" if cross else ""
    options = ["-DCPPLESS_BUILD_PLUGIN=ON"]
    if cross:
        options = ["-DCPPLESS_BUILD_PLUGIN=OFF", "-DCPPLESS_FUNCTION_SIDE_ONLY=ON",
                   "-DCMAKE_SYSTEM_NAME=Linux",
                   f"-DCMAKE_CXX_COMPILER_TARGET={TRIPLES[toolchain.architecture]}"]
    what = "library" + machine if cross else "plugin and library"
    with progress.step(f"building the cppless {what} (once)"):
        for words in (
                ["cmake", "-S", root, "-B", work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_INSTALL_LIBDIR=lib",
                 f"-DCMAKE_INSTALL_PREFIX={prefix}", *options,
                 "-DBUILD_SHARED_LIBS=OFF", "-DCPPLESS_BUILD_TESTS=OFF",
                 "-DCPPLESS_BUILD_EXAMPLES=OFF"],
                ["cmake", "--build", work],
                ["cmake", "--install", work, *([] if cross else ["--strip"])]):
            progress.command(words)
            result = run_tool(words)
            if result.returncode != 0:
                log = prefix.with_suffix(".log")
                log.write_text(result.stdout, "utf-8", "surrogateescape")
                tail = "\n".join(result.stdout.splitlines()[-30:])
                raise Problem(f"building cppless failed:\n{tail}\n(all of it: {log})")
    shutil.rmtree(work, ignore_errors=True)
    if cross:
        toolchain.plugin.parent.mkdir(parents=True, exist_ok=True)
    else:
        precompile(toolchain, progress)


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

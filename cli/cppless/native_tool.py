# SPDX-License-Identifier: Apache-2.0
"""Programs of this repository in C++ that commands build when they are first needed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from . import cache, packages
from .problem import Problem
from .progress import Progress
from .toolchain import COMPILER, compiler_version, run_cmake

SUFFIXES = (".cpp", ".hpp", ".txt", ".html")


@dataclass(frozen=True)
class NativeTool:
    """A program with a folder of its own, which is a CMake project."""

    name: str  # for people
    folder: str  # of the repository
    executable: str
    target: str
    components: tuple[str, ...]  # of tools/setup; what only this needs comes last
    kept_in: str  # of the cache

    def sources(self) -> Iterator[Path]:
        for file in sorted((packages.repository() / self.folder).rglob("*")):
            if file.suffix in SUFFIXES and not file.name.endswith("_test.cpp"):
                yield file

    def build(self, progress: Progress) -> Path:
        """The executable, built once per content of its sources and compiler version."""
        version = compiler_version()
        if version is None or packages.missing(self.components[-1]):
            for component in self.components:
                packages.ensure(component)
            version = compiler_version()
            if version is None:
                raise Problem(f"{COMPILER} is still not found", "check PATH")
        root = packages.repository()
        parts: list[str | bytes] = [version]
        for file in self.sources():
            parts += [str(file.relative_to(root)), file.read_bytes()]
        entry = cache.directory() / self.kept_in / cache.content_hash(parts)
        cache.fill(entry, lambda prefix: self._fill(prefix, progress), progress)
        cache.mark_used(entry)
        cache.remove_unused(entry.parent)
        return entry / self.executable

    def _fill(self, prefix: Path, progress: Progress) -> None:
        work = prefix / "build"
        source = packages.repository() / self.folder
        with progress.step(f"building {self.name} (once)"):
            run_cmake([["-S", str(source), "-B", str(work), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_CXX_COMPILER={COMPILER}"],
                       ["--build", str(work), "--target", self.target]], self.name, prefix, progress)
        shutil.move(work / self.executable, prefix / self.executable)
        shutil.rmtree(work, ignore_errors=True)

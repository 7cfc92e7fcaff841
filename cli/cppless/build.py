# SPDX-License-Identifier: Apache-2.0
"""One C++ file -> one executable, cached by content.

programs/<what is known before compiling>/<what the compiler read>/{program, dependencies.json}

The first name holds the source, the flags and the toolchain. Which headers the source includes only
the compiler knows; so each entry lists them with their contents' hashes, and fits if all still agree.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import cache
from .problem import Problem, Quit
from .process import run_tool
from .progress import Progress
from .toolchain import COMPILER, Toolchain, precompile

MARK = "dependencies.json"
CLOCK_STEP_NS = 20_000_000  # file times lag behind the clock by up to a kernel tick


@dataclass(frozen=True)
class Program:
    executable: Path
    link: list[str]  # the command that links it, without -o: what packages are made with, too
    dependencies: list[Path]  # everything that was read to make it, the source first


def build(source: str, toolchain: Toolchain, progress: Progress) -> Program:
    """The executable of `source`. Compile errors go to standard error as they are; then Quit(1)."""
    path = Path(source)
    if not path.is_file():
        raise Problem(f"no such file: {source}" if not path.exists() else f"not a file: {source}")
    flags = toolchain.compile_flags(source_root(path)) + _extra("CXXFLAGS")
    links = toolchain.link_flags() + _extra("LDFLAGS")
    parent = cache.directory() / "programs" / cache.content_hash(
        [toolchain.name, os.getcwd(), source, path.read_bytes(), "\0".join(flags), "\0".join(links)])
    found = _find(parent, links, toolchain)
    if found is None:
        with cache.locked(parent, progress):
            found = _find(parent, links, toolchain) or _compile(source, flags, links, toolchain, parent, progress)
        cache.remove_unused(parent.parent)
    cache.mark_used(parent)
    return found


def variant(program: Program, name: str, words: list[str], progress: Progress) -> Program:
    """The same program, linked with more `words` as well; kept beside it under `name`."""
    executable = program.executable.parent / name / program.executable.name
    with cache.locked(executable.parent, progress):
        if not executable.exists():
            executable.parent.mkdir(exist_ok=True)
            partial = executable.with_name(executable.name + ".partial")
            result = _compiler([*program.link, *words, "-o", str(partial)], progress)
            if result.returncode != 0:
                raise Problem(f"linking {executable.name} for {name} failed:\n{result.stdout.strip()}")
            partial.replace(executable)
    return Program(executable, [*program.link, *words], program.dependencies)


def source_root(source: Path) -> Path:
    """What task names are relative to: the repository `source` is in, else its directory."""
    directory = source.resolve().parent
    for candidate in (directory, *directory.parents):
        if (candidate / ".git").exists():
            return candidate
    return directory


def scan(source: str, toolchain: Toolchain) -> list[Path]:
    """What `source` includes, for one that does not compile; no more than itself if that fails too."""
    result = run_tool([COMPILER, *toolchain.compile_flags(source_root(Path(source))),
                       *_extra("CXXFLAGS"), "-MM", "-MG", source])
    return [Path(source), *_parse_depfile(result.stdout)] if result.returncode == 0 else [Path(source)]


def _extra(variable: str) -> list[str]:
    return shlex.split(os.environ.get(variable, ""))


def _link(program: Path, links: list[str], toolchain: Toolchain) -> list[str]:
    return [COMPILER, *toolchain.target_flags(), f"{program}.o", *links]


def _find(parent: Path, links: list[str], toolchain: Toolchain) -> Program | None:
    for mark in sorted(parent.glob(f"*/{MARK}"), key=lambda file: -file.stat().st_mtime_ns):
        try:
            entry = json.loads(mark.read_text("utf-8"))
            if all(_is_same(*dependency) for dependency in entry["dependencies"]):
                program = mark.parent / entry["program"]
                if os.access(program, os.X_OK):
                    return Program(program, _link(program, links, toolchain), [Path(file) for file, *_ in entry["dependencies"]])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _is_same(file: str, size: int, modified: int, digest: str) -> bool:
    """An unchanged size and time stand for unchanged contents; otherwise the contents decide."""
    status = os.stat(file)
    if status.st_size != size:
        return False
    return status.st_mtime_ns == modified or _file_hash(Path(file)) == digest


def _file_hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _compile(source: str, flags: list[str], links: list[str], toolchain: Toolchain, parent: Path,
             progress: Progress) -> Program:
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.glob("partial-*"):  # we hold the lock: nobody is at work there
        shutil.rmtree(leftover, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=parent))
    name = re.sub(r"[^\w.+-]", "_", Path(source).stem) or "program"
    depfile = partial / "dependencies.d"
    words = [COMPILER, *flags, "-MD", "-MF", str(depfile), "-c", source, "-o", str(partial / f"{name}.o")]
    link = [*_link(partial / name, links, toolchain), "-o", str(partial / name)]
    if sys.stderr.isatty():
        words.append("-fcolor-diagnostics")
        link.append("-fcolor-diagnostics")
    started = time.time_ns()
    diagnostics = ""
    try:
        with progress.step(f"compiling {source}"):
            status, diagnostics = _compiled(source, words, toolchain, progress)
            if status == 0:
                linked = _compiler(link, progress)
                status, diagnostics = linked.returncode, diagnostics + linked.stdout
            if status != 0:
                raise Quit(1)
    finally:
        if not (partial / name).exists():
            shutil.rmtree(partial, ignore_errors=True)
        _show(diagnostics)
    final, files = _store(partial, name, [Path(source), *_parse_depfile(depfile.read_text("utf-8"))],
                          started, parent)
    return Program(final, _link(final, links, toolchain), files)


def _compiled(source: str, words: list[str], toolchain: Toolchain, progress: Progress) -> tuple[int, str]:
    """Status and diagnostics of compiling with the precompiled header, where that changes nothing."""
    header = toolchain.precompiled_header
    plain = not _extra("CXXFLAGS") and header.exists() and begins_with_cppless(source)
    for _ in range(2 if plain else 0):
        result = _compiler(words + ["-include-pch", str(header)], progress)
        if not re.search(r"error: .*(precompiled header|PCH file|AST file)", result.stdout):
            return result.returncode, result.stdout
        # A system header was upgraded since it was made.
        if not precompile(toolchain, progress):
            break
    result = _compiler(words, progress)
    return result.returncode, result.stdout


def _compiler(words: list[str], progress: Progress) -> subprocess.CompletedProcess[str]:
    progress.command(words)
    return run_tool(words)


def begins_with_cppless(source: str) -> bool:
    """Whether the umbrella header comes before everything but comments and standard headers: only then
    is it the same to have included it before the first line."""
    text = Path(source).read_text("utf-8", "replace")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    return re.match(r"(\s|#[ \t]*include[ \t]*<[a-z_]+>)*"
                    r"#[ \t]*include[ \t]*<cppless/cppless\.hpp>", text) is not None


def _show(diagnostics: str) -> None:
    sys.stderr.flush()
    sys.stderr.buffer.write(diagnostics.encode("utf-8", "surrogateescape"))
    sys.stderr.flush()


def _store(partial: Path, name: str, read: list[Path], started: int,
           parent: Path) -> tuple[Path, list[Path]]:
    files = list(dict.fromkeys(file.resolve() for file in read))
    status = {file: file.stat() for file in files}
    dependencies = [(str(file), status[file].st_size, status[file].st_mtime_ns, _file_hash(file))
                    for file in files]
    final = parent / cache.content_hash(f"{file}\0{digest}" for file, _, _, digest in dependencies)
    if all(status[file].st_mtime_ns < started - CLOCK_STEP_NS for file in files):
        (partial / MARK).write_text(json.dumps({"program": name, "dependencies": dependencies}),
                                    "utf-8")
    # else: edited while it was compiled, so nobody knows which contents the compiler saw. Run, not kept.
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
    (parent / cache.COMPLETE).touch()
    return final / name, files


def _parse_depfile(text: str) -> list[Path]:
    """The prerequisites in a makefile rule as clang writes it: escaped spaces, $$ and \\#."""
    _, _, prerequisites = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", prerequisites)
    return [Path(re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$")) for word in words]

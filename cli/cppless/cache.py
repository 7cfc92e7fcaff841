# SPDX-License-Identifier: Apache-2.0
"""Directories named by content. Whoever holds the lock of a name may fill its directory; a directory
counts only once it is marked complete, so whatever a killed run left behind is made again."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Callable, Iterable, Iterator

from .problem import Problem
from .progress import Progress

COMPLETE = ".complete"
UNUSED_DAYS = 30


def directory() -> Path:
    """$XDG_CACHE_HOME/cppless or ~/.cache/cppless, made if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "cppless"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"cannot make the cache directory {path} ({error.strerror})",
                      "set XDG_CACHE_HOME to a directory that can be written") from error
    if not os.access(path, os.W_OK):
        raise Problem(f"cannot write to the cache directory {path}",
                      "set XDG_CACHE_HOME to a directory that can be written")
    return path


def content_hash(parts: Iterable[str | bytes]) -> str:
    """A name for `parts`; the lengths go in too, so that no two lists run together."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def is_complete(entry: Path) -> bool:
    return (entry / COMPLETE).exists()


def mark_used(entry: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(entry / COMPLETE)


@contextlib.contextmanager
def locked(entry: Path, progress: Progress) -> Iterator[None]:
    """Holds the lock of `entry`. The kernel drops it when its holder dies, however that happens."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{entry}.lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.step("waiting for another cppless that builds the same"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fill(entry: Path, make: Callable[[Path], None], progress: Progress) -> None:
    """Calls `make(entry)` on an empty directory unless the entry is complete already."""
    if is_complete(entry):
        return
    with locked(entry, progress):
        if is_complete(entry):
            return
        shutil.rmtree(entry, ignore_errors=True)
        entry.mkdir(parents=True)
        make(entry)
        (entry / COMPLETE).touch()


def remove_unused(parent: Path) -> None:
    """Removes entries of `parent` that nobody has used for UNUSED_DAYS."""
    limit = time.time() - UNUSED_DAYS * 86400
    for mark in parent.glob(f"*/{COMPLETE}"):
        with contextlib.suppress(OSError):
            if mark.stat().st_mtime < limit:
                shutil.rmtree(mark.parent, ignore_errors=True)
                os.unlink(f"{mark.parent}.lock")

# SPDX-License-Identifier: Apache-2.0
"""`cppless detached`: the detached tasks of this user (docs/formats/detached.md)."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import signal
import stat
import struct
import time
from pathlib import Path
from typing import Callable

from .problem import Problem

HEAD = struct.Struct("<8sIIQQ")
LOCK = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux
CANCELLED = 5  # error_kind


def folder() -> Path:
    """The folder of detached tasks; refused if others may write there."""
    chosen = os.environ.get("CPPLESS_DETACHED_DIR")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(chosen or os.path.join(cache, "cppless", "detached"))
    try:
        about = path.lstat()
    except FileNotFoundError:
        return path
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise Problem(f"{path} is not a folder of yours alone (user {about.st_uid}, mode "
                      f"{stat.S_IMODE(about.st_mode):04o})", "make it yours with mode 0700, or remove it")
    return path


class Task:
    def __init__(self, path: Path) -> None:
        self.path = path

    def keeper(self) -> int:
        """The process that keeps it, 0 if there is none."""
        try:
            with open(self.path / "keeper", "rb") as file:
                asked = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                kind, _, _, _, pid = LOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
        except FileNotFoundError:
            return 0
        return 0 if kind == fcntl.F_UNLCK else pid

    def state(self) -> str:
        is_kept = self.keeper() != 0  # asked first: it may end in between
        try:
            with open(self.path / "result", "rb") as file:
                head = file.read(HEAD.size)
        except FileNotFoundError:
            return "running" if is_kept else "lost"
        if len(head) < HEAD.size or head[:8] != b"cpplessD":
            return "damaged"
        return "failed" if HEAD.unpack(head)[2] else "done"

    def name(self) -> str:
        try:
            return (self.path / "keeper").read_text(errors="replace")
        except FileNotFoundError:
            return "?"


def hash_of(has_failed: int, body: bytes) -> int:
    value = 14695981039346656037
    words = [int.from_bytes(body[at:at + 8], "little") for at in range(0, len(body) - 7, 8)]
    for word in [has_failed] + words + list(body[len(body) // 8 * 8:]):
        value = (value ^ word) * 1099511628211 % (1 << 64)
        value ^= value >> 32
    return value


def failure(kind: int, message: str) -> bytes:
    """A result file."""
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    body = text("") + bytes([kind]) + text(message) + text("")
    return HEAD.pack(b"cpplessD", 1, 1, len(body), hash_of(1, body)) + body


def find(name: str) -> Task:
    if not re.fullmatch("[0-9a-f]{32}", name):
        raise Problem(f"\"{name[:64]}\" names no detached task", "`cppless detached list` names them", status=2)
    path = folder() / name
    if not path.is_dir():
        raise Problem(f"there is no detached task {name} in {path.parent}", "`cppless detached list` names them")
    return Task(path)


def list_tasks(_: argparse.Namespace) -> None:
    path = folder()
    found = [Task(each) for each in (path.iterdir() if path.is_dir() else ())
             if re.fullmatch("[0-9a-f]{32}", each.name)]
    for task in sorted(found, key=lambda each: each.path.stat().st_mtime):
        age = int(time.time() - task.path.stat().st_mtime)
        print(f"{task.path.name}  {task.state():8} {age:>7} s  {task.name()}")


def log(options: argparse.Namespace) -> None:
    path = find(options.id).path / "log"
    print(path.read_text(errors="replace") if path.exists() else "", end="")


def cancel(options: argparse.Namespace) -> None:
    task = find(options.id)
    keeper = task.keeper()
    if keeper <= 0 or task.state() != "running":
        raise Problem(f"detached task {options.id} does not run: it is {task.state()}")
    process = os.pidfd_open(keeper)
    try:
        if task.keeper() != keeper:  # the number belongs to another process by now
            raise Problem(f"detached task {options.id} does not run: it is {task.state()}")
        unfinished = task.path / f"result.{os.getpid()}"
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(failure(CANCELLED, f"detached task {options.id} was cancelled"))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(unfinished, task.path / "result")  # the first outcome counts
        except FileExistsError:
            pass
        unfinished.unlink()
        signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        os.close(process)


def remove(options: argparse.Namespace) -> None:
    task = find(options.id)
    if task.state() == "running":
        raise Problem(f"detached task {options.id} is running", "cancel it first")
    gone = task.path.with_name(f".removed-{options.id}")
    task.path.rename(gone)
    shutil.rmtree(gone)


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    command = add("detached", "Detached tasks of yours on this machine: list, log, cancel, remove.")
    actions = command.add_subparsers(dest="detached_action", required=True, metavar="ACTION")

    def action(name: str, text: str, does: Callable[[argparse.Namespace], None], takes_id: bool = True) -> None:
        parser = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
        if takes_id:
            parser.add_argument("id", metavar="ID")
        parser.set_defaults(action=lambda options, _arguments, _progress: _done(does, options))

    action("list", "All of them, the oldest first: id, state, seconds since it last changed, name.", list_tasks,
           takes_id=False)
    action("log", "Print what a task has printed.", log)
    action("cancel", "End a task that runs; collecting it then says so.", cancel)
    action("remove", "Remove a task that has ended, with its result.", remove)


def _done(does: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    does(options)
    return 0

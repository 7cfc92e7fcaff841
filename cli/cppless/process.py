# SPDX-License-Identifier: Apache-2.0
"""Child processes: signals reach them, and their end becomes an exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Mapping, Sequence

from .problem import Problem, Quit

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2)
KERNEL_SENT_IT = 0x80  # siginfo's SI_KERNEL


class Child:
    """A program that shares our terminal, standard streams and process group.

    Signals are taken one by one with sigtimedwait instead of by handlers: that tells who sent them.
    What the terminal sends (Ctrl-C) the kernel gives to the whole group; only what somebody sent to
    us alone must be passed on, else the program would be interrupted twice.
    """

    def __init__(self, program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        # What was ignored when we started (nohup, a shell's background job) stays ignored.
        self._waited = {signal.SIGCHLD} | {number for number in FORWARDED
                                           if signal.getsignal(number) != signal.SIG_IGN}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._waited)
        self._mask = mask
        try:
            # Python ignores SIGPIPE and SIGXFSZ; the program shall not inherit that.
            self.pid = os.posix_spawn(program, [program, *arguments], environment, setsigmask=mask,
                                      setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise Problem(f"cannot start {program} ({error.strerror})",
                          "is its file system mounted noexec? Set XDG_CACHE_HOME elsewhere") from error
        self.status: int | None = None  # as the shell's $?: 128 + n when signal n ended it
        self.received: int | None = None  # the last signal that was meant to end us

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status, or None if the program still runs after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.status is None:
            self._reap()
            if self.status is not None:
                break
            left = 3600.0 if end is None else end - time.monotonic()
            if left <= 0:
                return None
            self._take_signal(left)
        return self.status

    def stop(self, grace: float = 5.0) -> None:
        """Asks the program to end, and after `grace` seconds no longer asks."""
        if self.wait(0) is None:
            os.kill(self.pid, signal.SIGTERM)
            if self.wait(grace) is None:
                os.kill(self.pid, signal.SIGKILL)
                self.wait()

    def close(self) -> None:
        """Signals go to Python's own handlers again."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _reap(self) -> None:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            self.status = code if code >= 0 else 128 - code

    def _take_signal(self, timeout: float) -> None:
        info = signal.sigtimedwait(self._waited, timeout)
        if info is None or info.si_signo == signal.SIGCHLD:
            return
        if info.si_signo not in (signal.SIGUSR1, signal.SIGUSR2):
            self.received = info.si_signo
        if info.si_code != KERNEL_SENT_IT:
            os.kill(self.pid, info.si_signo)


def run_tool(words: Sequence[str], cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a tool with its output captured (both streams in `stdout`).

    If we are interrupted it and what it started get a SIGTERM: clang's driver does not pass it on to
    the compiler proper.
    """
    try:
        tool = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="surrogateescape",
                                process_group=0)
    except FileNotFoundError as error:
        raise Problem(f"{words[0]} is not installed", "run `cppless doctor`") from error
    with tool:
        try:
            output, _ = tool.communicate()
        except BaseException:
            _end_group(tool)
            raise
    return subprocess.CompletedProcess(words, tool.returncode, output)


def _end_group(leader: subprocess.Popen[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(leader.pid, number)
            leader.wait(5)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def end_on_termination() -> None:
    """SIGTERM and SIGHUP unwind the stack like Ctrl-C, so that `finally` clauses clean up."""
    def quit_(number: int, _frame: object) -> None:
        raise Quit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, quit_)

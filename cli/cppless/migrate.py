# SPDX-License-Identifier: Apache-2.0
"""`cppless migrate`: builds the rewriter when needed and hands over to it."""

from __future__ import annotations

import argparse
import os
import sys

from . import packages
from .native_tool import NativeTool
from .progress import Progress

REWRITER = NativeTool("cppless migrate", "migrate", "cppless-migrate", "cppless_migrate", ("migrate",), "migrate")

TEXT = "Turn std::async, std::future, std::shared_future, std::promise and std::packaged_task into fibers."

DESCRIPTION = """\
Turns std::async, std::future, std::shared_future, std::promise and std::packaged_task into those of
cppless::fiber, in the sources and in the headers they include from below their directories or the
working directory, and adds #include <cppless/fiber.hpp>. What their tasks call sleeps and yields as
fibers do (std::this_thread::sleep_for, sleep_until, yield). Prints the difference and changes nothing,
unless told to with --write. Give all sources that share futures in one run."""

EPILOG = """\
Left alone, with a note that says why, together with everything whose type depends on it:
  - std::launch::deferred, and policies known only when the program runs;
  - tasks that use thread_local data or the id of their thread, that wait with a condition variable,
    latch, barrier or semaphore, or for a future while they hold a lock;
  - what macros write, what files of others declare, what sources not given define.

The difference goes to standard output (for `patch -p1` or `git apply`), all else to standard error.
Exit status: 0 done, also if there was nothing to do; 1 if a source does not compile or a file cannot
be written: then nothing is changed; 2 if the command line is wrong."""


def add_command(add) -> None:
    """`add(name, text)` makes a command's parser."""
    command = add("migrate", TEXT)
    command.usage = "cppless migrate SOURCE.cpp... [options] [-- COMPILER FLAGS...]"
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = DESCRIPTION, EPILOG
    command.add_argument("sources", nargs="+", metavar="SOURCE.cpp")
    command.add_argument("--write", action="store_true", help="change the files")
    command.add_argument("-p", metavar="DIRECTORY", dest="build_directory",
                         help="compile_commands.json is there (default: in the first source's directory or "
                              "above); instead, flags may follow --; without either: -std=c++20")
    command.set_defaults(action=migrate_command)


def migrate_command(options: argparse.Namespace, flags: list[str], progress: Progress) -> int:
    words = [str(REWRITER.build(progress)), "--library", str(packages.repository() / "library" / "include")]
    words += ["--write"] if options.write else []
    words += ["-p", options.build_directory] if options.build_directory else []
    words += [*options.sources, *(["--", *flags] if flags else [])]
    progress.command(words)
    sys.stdout.flush()
    os.execv(words[0], words)

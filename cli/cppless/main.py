# SPDX-License-Identifier: Apache-2.0
"""Command line -> one of the commands."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import NoReturn, Sequence

from . import VERSION, toolchain
from .build import build
from .problem import Problem, Quit
from .process import end_on_termination
from .progress import Progress
from .run import Request, run

EPILOG = """environment:
  CXXFLAGS, LDFLAGS    more flags for compiling and linking your program
  XDG_CACHE_HOME       where builds are kept (default: ~/.cache), in cppless/
  CPPLESS_TRACE=FILE   what your program does is written there, for `cppless trace` and Perfetto
  CPPLESS_WORKERS, CPPLESS_DISPATCHER, CPPLESS_PROGRESS, CPPLESS_STRICT
                       read by your program, see the library's documentation"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"cppless: error: {message} (see {self.prog} --help)\n")


def main(words: Sequence[str]) -> int:
    end_on_termination()
    ours, arguments = split(list(words))
    options = parser().parse_args(ours)
    progress = Progress(quiet=getattr(options, "quiet", False),
                        verbose=getattr(options, "verbose", False))
    try:
        if arguments and options.command not in ("run", "migrate", "record-link"):
            raise Problem("arguments after -- belong to `cppless run` and `cppless migrate`", status=2)
        return options.action(options, arguments, progress)
    except Problem as problem:
        print(f"cppless: error: {problem}", file=sys.stderr)
        return problem.status
    except Quit as quit_:
        return quit_.status
    except KeyboardInterrupt:
        return 130


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our words and those of the program (or the compiler), which follow the first "--"."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="cppless", description="Runs C++ lambdas in other processes, from one source file.",
                 epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                 allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"cppless {VERSION}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.add_argument("--verbose", action="store_true", help="show the commands that are run")
        return command

    run_ = add("run", "Compile a C++ file (cached by content) and run it.")
    run_.usage = "cppless run FILE.cpp [options] [-- args...]"
    run_.add_argument("file", metavar="FILE.cpp")
    run_.add_argument("--workers", type=positive, metavar="N", help="worker processes (default: cores)")
    run_.add_argument("--dispatcher", choices=("local", "fiber", "inline", "lambda"),
                      help="local: worker processes (default); fiber: in the program itself, on its "
                           "cores; inline: the same, serially; "
                           "lambda: functions on AWS Lambda, or on the local cloud where no account is set")
    run_.add_argument("--watch", action="store_true", help="again whenever the source changes")
    run_.add_argument("-q", "--quiet", action="store_true", help="only errors and the program's output")
    run_.set_defaults(action=run_command)

    build_ = add("build", "Compile a C++ file to an executable.")
    build_.add_argument("file", metavar="FILE.cpp")
    build_.add_argument("-o", metavar="OUT", dest="output", help="default: FILE")
    build_.add_argument("-q", "--quiet", action="store_true", help="only errors")
    build_.set_defaults(action=build_command)

    trace_ = add("trace", "Say what a traced run did: how long its tasks took and where, what failed.")
    trace_.add_argument("file", metavar="RUN.json", help="what a program wrote that ran with CPPLESS_TRACE=RUN.json")
    trace_.add_argument("--html", metavar="PAGE.html", help="write a page with the timeline of each worker, too")
    trace_.set_defaults(action=trace_command)

    from . import cloud_options

    cloud_options.add_commands(add)
    from . import platform

    platform.add_command(add)
    cloud_options.add_cmake_steps(commands)

    from . import migrate

    migrate.add_command(add)
    from . import detached

    detached.add_command(add)
    doctor_ = add("doctor", "Say what is installed, what is missing and how to mend it.")
    doctor_.set_defaults(action=doctor_command)
    return top


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError(f"\"{text}\" is not a number from 1 to 4096")
    return int(text)


def run_command(options: argparse.Namespace, arguments: list[str], progress: Progress) -> int:
    request = Request(options.file, arguments, options.workers, options.dispatcher)
    if options.watch and options.dispatcher == "lambda":
        raise Problem("--watch does not go with --dispatcher lambda", status=2)
    if options.watch:
        from .watch import watch

        return watch(request, progress)
    return run(request, progress)


def build_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    output = options.output or os.path.splitext(os.path.basename(options.file))[0]
    if os.path.isdir(output) or (os.path.exists(output) and os.path.samefile(output, options.file)):
        raise Problem(f"cannot write the executable to {output}", "name another with -o", status=2)
    program = build(options.file, toolchain.ensure(progress), progress)
    partial = f"{output}.{os.getpid()}.partial"
    try:
        shutil.copy(program.executable, partial)
        os.replace(partial, output)  # also when the old one is running
    except OSError as error:
        raise Problem(f"cannot write {output} ({error.strerror})", "name another with -o") from error
    progress.say(f"wrote {output}")
    return 0


def trace_command(options: argparse.Namespace, arguments: list[str], progress: Progress) -> int:
    from . import trace

    return trace.trace_command(options, arguments, progress)


def doctor_command(_: argparse.Namespace, __: list[str], ___: Progress) -> int:
    from . import doctor  # here: half the start-up time of a cached run

    return doctor.examine()

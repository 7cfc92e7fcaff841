# SPDX-License-Identifier: Apache-2.0
"""Command lines of the commands around AWS Lambda. What they do is imported when one of them runs."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, Callable

from .progress import Progress

Add = Callable[[str, str], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    deploy = add("deploy", "Make a program's tasks functions on AWS Lambda: shows what would change.")
    _add_source(deploy)
    _add_settings(deploy)
    _add_architecture(deploy)
    deploy.add_argument("--toolchain", choices=("native", "musl"), default="native",
                        help="musl: smaller functions that start faster, for x86_64; takes ziglang from PyPI")
    _add_place(deploy)
    deploy.set_defaults(action=_of("serverless", "deploy_command"))

    for name, text, action in (
            ("undeploy", "Remove a program's functions: shows what would go.", "undeploy_command"),
            ("prune", "Remove functions of tasks that a program no longer has.", "prune_command")):
        command = add(name, text)
        _add_source(command)
        _add_yes(command)
        _add_place(command)
        command.set_defaults(action=_of("serverless", action))
        command.set_defaults(role=None, memory=None, timeout=None, bucket=None, architecture="x86_64")

    invoke = add("invoke", "Send one request to one function, on this machine or where it is deployed.")
    invoke.add_argument("file", metavar="FILE.cpp|FUNCTION", help="a source runs here; a name, there")
    invoke.add_argument("--task", metavar="TEXT", help="identity, or part of the name, if there are several")
    what = invoke.add_mutually_exclusive_group()
    what.add_argument("--payload", metavar="JSON", help="docs/formats/functions.md says what tasks expect")
    what.add_argument("--payload-file", metavar="FILE", help="\"-\": standard input")
    invoke.add_argument("--remote", action="store_true", help="the deployed function of FILE.cpp")
    invoke.add_argument("-q", "--quiet", action="store_true", help="only errors and the answer")
    _add_place(invoke)
    invoke.set_defaults(action=_of("serverless", "invoke_command"))

    logs = add("logs", "Show what functions printed.")
    logs.add_argument("file", metavar="FILE.cpp|FUNCTION")
    logs.add_argument("--follow", action="store_true", help="until interrupted")
    _add_since(logs)
    _add_place(logs)
    logs.set_defaults(action=_of("serverless", "logs_command"))

    cost = add("cost", "Say what AWS bills for invocations, from their REPORT lines.")
    cost.add_argument("file", metavar="FILE.cpp|FUNCTION|LOG", help="a log: a file of log lines; \"-\": input")
    _add_since(cost)
    _add_architecture(cost)
    _add_place(cost)
    cost.set_defaults(action=_of("serverless", "cost_command"))


def add_cmake_steps(commands: Any) -> None:
    """What CMake runs, left out of the help."""
    def add(name: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, allow_abbrev=False)

    record = add("record-link")
    record.add_argument("file")
    record.set_defaults(action=_of("cmake_steps", "record_link_command"))

    pack = add("package-functions")
    for name in ("program", "link", "directory", "prefix", "output"):
        pack.add_argument(f"--{name}", required=True)
    pack.set_defaults(action=_of("cmake_steps", "package_functions_command"))

    add("musl-toolchain").set_defaults(action=_of("cmake_steps", "musl_toolchain_command"))

    deploy = add("deploy-functions")
    _add_source(deploy)
    _add_settings(deploy)
    _add_place(deploy)
    deploy.set_defaults(action=_of("cmake_steps", "deploy_functions_command"))


def _add_source(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE.cpp")
    command.add_argument("-q", "--quiet", action="store_true", help="only the plan and errors")


def _add_settings(command: argparse.ArgumentParser) -> None:
    _add_yes(command)
    command.add_argument("--role", metavar="ARN|NAME", help="what functions run as (default: one is made)")
    command.add_argument("--memory", type=int, metavar="MB", help="of tasks that do not say (default: 1024)")
    command.add_argument("--timeout", type=int, metavar="S", help="of tasks that do not say (default: 60)")
    command.add_argument("--bucket", metavar="NAME", help="S3 bucket for zips above 50 MB")


def _add_yes(command: argparse.ArgumentParser) -> None:
    command.add_argument("--yes", action="store_true", help="do it")


def _add_since(command: argparse.ArgumentParser) -> None:
    command.add_argument("--since", default="1h", metavar="SPAN", help="90s, 10m, 2h, 1d (default: 1h)")


def _add_architecture(command: argparse.ArgumentParser) -> None:
    command.add_argument("--architecture", choices=("x86_64", "arm64"), default="x86_64",
                         help="of the functions' machines (default: x86_64)")


def _add_place(command: argparse.ArgumentParser) -> None:
    command.add_argument("--prefix", help="functions' names begin with it (default: the file's name)")
    command.add_argument("--region", help="default: AWS_REGION, the profile's")
    command.add_argument("--profile", help="section of ~/.aws/config and credentials")
    command.add_argument("--endpoint-url", metavar="URL", help="default: AWS_ENDPOINT_URL, else AWS")


def _of(module: str, action: str) -> Callable[[argparse.Namespace, list[str], Progress], int]:
    def perform(options: argparse.Namespace, arguments: list[str], progress: Progress) -> int:
        return int(getattr(importlib.import_module(f".{module}", __package__), action)(
            options, arguments, progress))

    return perform

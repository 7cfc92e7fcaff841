# SPDX-License-Identifier: Apache-2.0
"""The commands that have to do with AWS Lambda: deploy, undeploy, prune, invoke, logs, cost, and running
a program whose tasks are functions there."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from typing import Sequence

from . import cost, deploy, invoke, logs, package, summary, toolchain
from .build import Program, build, variant
from .cloud import Cloud
from .package import AWS_DISPATCHER, Package
from .problem import Problem
from .progress import Progress
from .run import Request, Run

LOCAL_LOG_SECONDS = 3.0
REMOTE_LOG_SECONDS = 20.0
NOTHING_DONE = "nothing was changed: --yes does it"


def packages_of(source: str, target: str, progress: Progress) -> tuple[Program, list[Package]]:
    """The program for this machine, and its tasks' packages for `target`."""
    tools = toolchain.ensure(progress)
    program = build(source, tools, progress)
    tasks = package.tasks_of(program.executable)
    if target == toolchain.HOST:
        return program, package.package(tasks, program.link, tools.name, progress)
    cross = toolchain.ensure(progress, target)
    other = build(source, cross, progress)
    if target == toolchain.MUSL:
        package.check_same(tasks, package.tasks_of(other.executable))
    return program, package.package(tasks, other.link, cross.name, progress)


def target_of(options: argparse.Namespace) -> str:
    if options.toolchain == "native":
        return str(options.architecture)
    if options.architecture != toolchain.HOST:
        raise Problem(f"the toolchain musl is for {toolchain.HOST}, not for {options.architecture}", status=2)
    return toolchain.MUSL


def cloud_of(options: argparse.Namespace) -> Cloud:
    return Cloud(options.region, options.endpoint_url, options.profile)


def settings_of(options: argparse.Namespace) -> deploy.Options:
    return deploy.Options(deploy.prefix_of(options.file, options.prefix), options.architecture,
                          options.role, options.memory, options.timeout, options.bucket)


def deploy_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    _, packages = packages_of(options.file, target_of(options), progress)
    if not packages:
        raise Problem(f"{options.file} has no tasks", "dispatch a lambda in it")
    settings = settings_of(options)
    cloud = cloud_of(options)
    planned = deploy.plan(cloud, packages, settings)
    progress.say(f"{settings.prefix} at {cloud.place}")
    return carry_out(cloud, planned, settings, options.yes, progress)


def carry_out(cloud: Cloud, planned: deploy.Plan, settings: deploy.Options, yes: bool,
              progress: Progress) -> int:
    print("\n".join(planned.lines()))
    sys.stdout.flush()
    if planned.role_is_new:
        progress.say("the role that functions run as will be made, too")
    if planned.is_empty:
        return 0
    if not yes:
        progress.say(NOTHING_DONE)
        return 0
    return report_failures(deploy.apply(cloud, planned, settings, progress))


def report_failures(failures: Sequence[str]) -> int:
    for failure in failures:
        print(f"cppless: error: {failure}", file=sys.stderr)
    return 1 if failures else 0


def undeploy_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    cloud, settings = cloud_of(options), settings_of(options)
    planned = deploy.removal(cloud, settings.prefix)
    status = carry_out(cloud, planned, settings, options.yes, progress)
    if options.yes and status == 0 and deploy.remove_unused_role(cloud):
        progress.say("removed the role that functions ran as")
    return status


def prune_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    program = build(options.file, toolchain.ensure(progress), progress)
    cloud, settings = cloud_of(options), settings_of(options)
    kept = [f"{settings.prefix}-{task.identity}" for task in package.tasks_of(program.executable)]
    return carry_out(cloud, deploy.removal(cloud, settings.prefix, kept), settings, options.yes, progress)


def invoke_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    data = invoke.payload(options.payload, options.payload_file)
    if not os.path.exists(options.file):
        return invoke.remote(cloud_of(options), options.file, data, progress)
    if options.remote:
        program = build(options.file, toolchain.ensure(progress), progress)
        tasks = package.tasks_of(program.executable)
        chosen = invoke.choose([Package(task, Path(), Path(), "", 0, 0, "") for task in tasks], options.task)
        prefix = deploy.prefix_of(options.file, options.prefix)
        return invoke.remote(cloud_of(options), f"{prefix}-{chosen.task.identity}", data, progress)
    _, packages = packages_of(options.file, toolchain.HOST, progress)
    return invoke.local(invoke.choose(packages, options.task), data, progress)


def functions_of(cloud: Cloud, options: argparse.Namespace) -> list[str]:
    """Of a source file all its functions; else the function of that name."""
    if not os.path.exists(options.file):
        return [options.file]
    prefix = deploy.prefix_of(options.file, options.prefix)
    found = sorted(deploy.ours(cloud, prefix))
    if not found:
        raise Problem(f"no function of {prefix} is deployed at {cloud.place}",
                      f"`cppless deploy {options.file} --yes`")
    return found


def logs_command(options: argparse.Namespace, _: list[str], __: Progress) -> int:
    cloud = cloud_of(options)
    since = since_ms(options.since)
    logs.show(cloud, functions_of(cloud, options), since, options.follow)
    return 0


def cost_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    if options.file == "-" or (os.path.isfile(options.file) and not is_source(options.file)):
        with (sys.stdin if options.file == "-" else open(options.file, encoding="utf-8",
                                                         errors="replace")) as lines:
            bill = cost.bill(lines, options.architecture)
    else:
        cloud = cloud_of(options)
        events = logs.Reader(cloud, functions_of(cloud, options), since_ms(options.since)).poll()
        bill = cost.bill((event.text for event in events), options.architecture)
    if bill.requests == 0:
        progress.say("no REPORT lines were found")
        return 1
    print("\n".join(bill.table()))
    return 0


def is_source(path: str) -> bool:
    return path.endswith((".cpp", ".cc", ".cxx", ".C"))


def since_ms(text: str) -> int:
    """Milliseconds since 1970 of "90s", "10m", "2h" or "1d" ago."""
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if found is None:
        raise Problem(f"--since {text} is no time span", "write 90s, 10m, 2h or 1d", status=2)
    seconds = int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]
    return int((time.time() - seconds) * 1000)


def run_on_lambda(request: Request, progress: Progress) -> int:
    """Deploys what is not deployed as it is, runs the program, says what it cost."""
    if not has_cloud():
        start_local_cloud(progress)
    program, packages = packages_of(request.source, toolchain.HOST, progress)
    cloud = Cloud()
    settings = deploy.Options(deploy.prefix_of(request.source, os.environ.get("CPPLESS_FUNCTION_PREFIX")),
                              toolchain.HOST)
    planned = deploy.plan(cloud, packages, settings)
    # Another program of this name may own those: `cppless prune` removes them.
    planned.steps = [step for step in planned.steps if step.state != "remove"]
    progress.say(f"{settings.prefix} at {cloud.place}: {planned.totals()}")
    if not planned.is_empty and report_failures(deploy.apply(cloud, planned, settings, progress)):
        return 1
    os.environ["CPPLESS_FUNCTION_PREFIX"] = settings.prefix
    os.environ["AWS_REGION"] = str(cloud.region)
    program = variant(program, "lambda", [AWS_DISPATCHER], progress)
    stream = logs.Stream(cloud, [step.name for step in planned.steps], int(time.time() * 1000))
    with Run(program, request, progress) as running:
        running.child.wait()
        status = running.finish()
        say_cost(stream, running.values, cloud, progress)
        return status


def say_cost(stream: logs.Stream, values: dict[str, int] | None, cloud: Cloud, progress: Progress) -> None:
    tasks = (values or {}).get("tasks", 0)
    stream.finish(tasks, LOCAL_LOG_SECONDS if cloud.is_local else REMOTE_LOG_SECONDS)
    if stream.problem is not None:
        progress.say(f"no cost: {stream.problem}")
        return
    bill = cost.bill(stream.reports, toolchain.HOST)
    late = f" ({tasks - bill.requests:,} not yet in the log)" if bill.requests < tasks else ""
    progress.say(bill.line() + late)


def has_cloud() -> bool:
    """Whether the environment says where to: an endpoint, or an account."""
    if any(os.environ.get(name) for name in ("AWS_ENDPOINT_URL_LAMBDA", "AWS_ENDPOINT_URL",
                                             "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
                                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                             "AWS_WEB_IDENTITY_TOKEN_FILE")):
        return True
    shared = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.expanduser("~/.aws/credentials")
    config = os.environ.get("AWS_CONFIG_FILE") or os.path.expanduser("~/.aws/config")
    return os.path.exists(shared) or os.path.exists(config)


def start_local_cloud(progress: Progress) -> None:
    """Starts it unless it runs, and points this process and its children at it."""
    try:
        from . import platform as local
    except ImportError as error:
        raise Problem("no endpoint and no AWS credentials are set, and this cppless has no local cloud",
                      "set AWS_ENDPOINT_URL, or run `aws configure`") from error
    os.environ.update(local.ensure(progress))

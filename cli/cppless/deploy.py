# SPDX-License-Identifier: Apache-2.0
"""A program's tasks as Lambda functions: what is there, what should be, and the steps between."""

from __future__ import annotations

import concurrent.futures
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from .cloud import MARK, Cloud, errors, find_role, make_role, remove_role, said
from .package import Package
from .problem import Problem
from .progress import Progress
from .summary import count

RUNTIME = "provided.al2023"
DEFAULT_MEMORY_MB = 1024
DEFAULT_TIMEOUT_S = 60
DEFAULT_STORAGE_MB = 512
DIRECT_LIMIT = 50 * 2**20  # AWS: larger zips go through S3
AT_ONCE = 8
ROLE_SECONDS = 40  # until a new role is known everywhere
READY_SECONDS = 120
STATES = ("create", "change", "remove", "unchanged")
SIGNS = {"create": "+", "change": "~", "remove": "-", "unchanged": "="}


def function_prefix(text: str) -> str:
    """As the library makes it of a program's name (library/src/lambda/function_name.cpp)."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text[:47])


@dataclass(frozen=True)
class Settings:
    """What AWS keeps of a function beside its code, in AWS's words."""

    Description: str
    Handler: str
    MemorySize: int
    Timeout: int
    Role: str
    Runtime: str = RUNTIME
    EphemeralStorage: int = DEFAULT_STORAGE_MB
    Variables: tuple[tuple[str, str], ...] = ()

    def request(self) -> dict[str, Any]:
        return {"Description": self.Description, "Handler": self.Handler, "MemorySize": self.MemorySize,
                "Timeout": self.Timeout, "Role": self.Role, "Runtime": self.Runtime,
                "EphemeralStorage": {"Size": self.EphemeralStorage},
                "Environment": {"Variables": dict(self.Variables)}}

    @staticmethod
    def of(found: dict[str, Any]) -> "Settings":
        return Settings(found.get("Description", ""), found.get("Handler", ""),
                        found.get("MemorySize", 128), found.get("Timeout", 3), found.get("Role", ""),
                        found.get("Runtime", ""),
                        found.get("EphemeralStorage", {}).get("Size", DEFAULT_STORAGE_MB),
                        tuple(sorted(found.get("Environment", {}).get("Variables", {}).items())))


@dataclass
class Step:
    """What one function needs."""

    state: str
    name: str
    settings: Settings | None = None
    package: Package | None = None
    changes: list[str] = field(default_factory=list)
    code_changes: bool = False
    architecture: str = "x86_64"

    def line(self) -> str:
        text = f"{SIGNS[self.state]} {self.state:9}  {self.name}"
        if self.settings and self.package:
            text += (f"  {self.package.zipped:,} bytes, {self.settings.MemorySize:,} MB, "
                     f"{self.settings.Timeout} s, {self.architecture}  {self.package.task.name}")
        return text + (f"  ({', '.join(self.changes)})" if self.changes else "")


@dataclass
class Plan:
    prefix: str
    steps: list[Step]
    role_is_new: bool = False

    @property
    def is_empty(self) -> bool:
        return all(step.state == "unchanged" for step in self.steps)

    def lines(self) -> list[str]:
        order = sorted(self.steps, key=lambda step: (STATES.index(step.state), step.name))
        return [step.line() for step in order] + [self.totals()]

    def totals(self) -> str:
        number = {state: sum(step.state == state for step in self.steps) for state in STATES}
        return (f"{number['create']} to create, {number['change']} to change, "
                f"{number['remove']} to remove, {number['unchanged']} unchanged")


@dataclass(frozen=True)
class Options:
    prefix: str
    architecture: str
    role: str | None = None
    memory_mb: int | None = None
    timeout_s: int | None = None
    bucket: str | None = None
    environment: tuple[tuple[str, str], ...] = ()


def ours(cloud: Cloud, prefix: str) -> dict[str, dict[str, Any]]:
    """The functions there that we made for this prefix."""
    pattern = re.compile(re.escape(prefix) + r"-[0-9a-f]{16}$")
    found = {}
    try:
        for page in cloud.client("lambda").get_paginator("list_functions").paginate():
            for function in page["Functions"]:
                if pattern.fullmatch(function["FunctionName"]) \
                        and function.get("Description", "").startswith(MARK):
                    found[function["FunctionName"]] = function
    except errors() as error:
        raise Problem(f"cannot list the functions at {cloud.place}: {said(error)}",
                      "the permission lambda:ListFunctions is needed") from error
    return found


def plan(cloud: Cloud, packages: Sequence[Package], options: Options) -> Plan:
    cloud.account()
    role = find_role(cloud, options.role)
    there = ours(cloud, options.prefix)
    steps = []
    for package in packages:
        name = f"{options.prefix}-{package.task.identity}"
        steps.append(_step(name, package, _wanted(package, options, role or ""), there.pop(name, None),
                           options))
    steps += [Step("remove", name) for name in there]
    return Plan(options.prefix, steps, role is None and bool(packages))


def _wanted(package: Package, options: Options, role: str) -> Settings:
    task = package.task
    variables = {"CPPLESS_DISPATCHER": "lambda", **dict(options.environment)}
    return Settings(
        Description=(MARK + task.name)[:256], Handler=task.identity,
        MemorySize=max(128, task.memory_mb or options.memory_mb or DEFAULT_MEMORY_MB),
        Timeout=task.timeout_s or options.timeout_s or DEFAULT_TIMEOUT_S, Role=role,
        EphemeralStorage=max(512, task.ephemeral_storage_mb or DEFAULT_STORAGE_MB),
        Variables=tuple(sorted(variables.items())))


def _step(name: str, package: Package, wanted: Settings, found: dict[str, Any] | None,
          options: Options) -> Step:
    step = Step("create", name, wanted, package, architecture=options.architecture)
    if found is None:
        return step
    has = Settings.of(found)
    step.code_changes = (found.get("CodeSha256") != package.sha256
                         or found.get("Architectures", ["x86_64"]) != [options.architecture])
    if step.code_changes:
        step.changes.append("code")
    for setting in Settings.__dataclass_fields__:
        before, after = getattr(has, setting), getattr(wanted, setting)
        if before != after:
            step.changes.append(f"{setting} {before} -> {after}" if isinstance(after, int) else setting)
    step.state = "change" if step.changes else "unchanged"
    return step


def apply(cloud: Cloud, planned: Plan, options: Options, progress: Progress) -> list[str]:
    """Carries the plan out, several functions at once; what failed, in a sentence each."""
    steps = [step for step in planned.steps if step.state != "unchanged"]
    if planned.role_is_new:
        role = make_role(cloud)
        progress.say(f"made the role {role}")
        for step in steps:
            if step.settings:
                step.settings = Settings(**{**vars(step.settings), "Role": role})
    failures: list[str] = []
    done = {"create": "created", "change": "changed", "remove": "removed"}
    with progress.step(f"deploying {count(len(steps), 'function')}"), \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(_perform, cloud, step, options): step for step in steps}
        for number, future in enumerate(concurrent.futures.as_completed(running), 1):
            step, error = running[future], future.exception()
            if error is None:
                progress.say(f"{done[step.state]} {step.name} ({number} of {len(steps)})")
            else:
                failures.append(f"could not {step.state} {step.name}: {said(error)}"  # type: ignore[arg-type]
                                if isinstance(error, Exception) else str(error))
    return sorted(failures)


def _perform(cloud: Cloud, step: Step, options: Options) -> None:
    functions = cloud.client("lambda")
    if step.state == "remove":
        _remove(cloud, step.name)
        return
    assert step.settings and step.package
    request = step.settings.request()
    source = _code(cloud, step.package, options)
    if step.state == "create":
        _while_role_is_new(lambda: functions.create_function(
            FunctionName=step.name, PackageType="Zip", Code=source,
            Architectures=[step.architecture], **request))
        _wait(functions, step.name)
        return
    if step.code_changes:
        functions.update_function_code(FunctionName=step.name, Architectures=[step.architecture], **source)
        _wait(functions, step.name)
    if set(step.changes) - {"code"}:
        _while_role_is_new(lambda: functions.update_function_configuration(
            FunctionName=step.name, **request))
        _wait(functions, step.name)


def _code(cloud: Cloud, package: Package, options: Options) -> dict[str, Any]:
    if package.zipped <= DIRECT_LIMIT:
        return {"ZipFile": package.archive.read_bytes()}
    if not options.bucket:
        raise Problem(f"its zip has {package.zipped:,} bytes, at most {DIRECT_LIMIT:,} can be sent directly",
                      "name an S3 bucket in the same region with --bucket")
    key = f"cppless/{package.sha256.replace('/', '_')}.zip"
    cloud.client("s3").upload_file(str(package.archive), options.bucket, key)
    return {"S3Bucket": options.bucket, "S3Key": key}


def _while_role_is_new(request: Callable[[], Any]) -> None:
    """A role that was just made is not known everywhere at once."""
    end = time.monotonic() + ROLE_SECONDS
    while True:
        try:
            request()
            return
        except errors() as error:
            if "assume" not in said(error) or time.monotonic() > end:
                raise
            time.sleep(2)


def _wait(functions: Any, name: str) -> None:
    """Until AWS has taken the change over."""
    end = time.monotonic() + READY_SECONDS
    pause = 0.02
    while True:
        state = functions.get_function_configuration(FunctionName=name)
        if state.get("State") == "Failed" or state.get("LastUpdateStatus") == "Failed":
            raise Problem(state.get("StateReason") or state.get("LastUpdateStatusReason") or "it failed")
        if state.get("State", "Active") in ("Active", "Inactive") \
                and state.get("LastUpdateStatus", "Successful") == "Successful":
            return
        if time.monotonic() > end:
            raise Problem(f"it is still {state.get('State')} after {READY_SECONDS} s")
        time.sleep(pause)
        pause = min(2 * pause, 2)


def _remove(cloud: Cloud, name: str) -> None:
    cloud.client("lambda").delete_function(FunctionName=name)
    try:
        cloud.client("logs").delete_log_group(logGroupName=f"/aws/lambda/{name}")
    except errors():
        pass  # it never ran, or we may not: logs expire by themselves


def removal(cloud: Cloud, prefix: str, kept: Iterable[str] = ()) -> Plan:
    """What `undeploy` does, or with the functions to keep what `prune` does."""
    cloud.account()
    keep = set(kept)
    return Plan(prefix, [Step("unchanged" if name in keep else "remove", name)
                         for name in ours(cloud, prefix)])


def remove_unused_role(cloud: Cloud) -> bool:
    """Removes the role we made once no function of ours is left, of any program."""
    for page in cloud.client("lambda").get_paginator("list_functions").paginate():
        if any(function.get("Description", "").startswith(MARK) for function in page["Functions"]):
            return False
    return remove_role(cloud)


def prefix_of(source: str, asked: str | None) -> str:
    return function_prefix(asked or Path(source).stem)

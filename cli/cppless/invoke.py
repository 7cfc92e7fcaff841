# SPDX-License-Identifier: Apache-2.0
"""One request to one function: on this machine, under a Runtime API of ours, or where it is deployed."""

from __future__ import annotations

import base64
import json
import struct
import sys
from pathlib import Path

from .cloud import Cloud, code, errors, said
from .package import Package
from .problem import Problem
from .progress import Progress
from .runtime_api import function
from .summary import count, duration

HEAD = struct.Struct("<BBQQQ")  # docs/formats/functions.md
UPDATES = 2  # of shared variables follow the result


def payload(text: str | None, file: str | None) -> bytes:
    """JSON, checked: what is not makes AWS answer with less helpful words."""
    try:
        data = Path(file).read_bytes() if file and file != "-" else \
            sys.stdin.buffer.read() if file else (text or '""').encode()
    except OSError as error:
        raise Problem(f"cannot read {file} ({error.strerror})") from error
    try:
        json.loads(data)
    except ValueError as error:
        raise Problem(f"the payload is not JSON ({error})",
                      "a text needs its quotation marks: --payload '\"AAAA\"'", status=2) from error
    return data


def choose(packages: list[Package], wanted: str | None) -> Package:
    """The task whose identity begins with `wanted`, or whose name contains it."""
    found = [item for item in packages if wanted is None
             or item.task.identity.startswith(wanted) or wanted in item.task.name]
    if len(found) == 1:
        return found[0]
    listed = "".join(f"\n  {item.task.identity}  {item.task.name}" for item in packages)
    raise Problem(f"{count(len(found), 'task')} of {count(len(packages), 'task')} fit; choose one with "
                  f"--task{listed}", status=2)


def local(package: Package, data: bytes, progress: Progress) -> int:
    timeout = float(package.task.timeout_s or 900)
    with function(package.bootstrap, output=None, handler=package.task.identity) as running:
        answer = running.invoke(data, timeout)
    return show(answer.answer, answer.error_type is not None, progress)


def remote(cloud: Cloud, name: str, data: bytes, progress: Progress) -> int:
    try:
        answer = cloud.client("lambda").invoke(FunctionName=name, LogType="Tail", Payload=data)
    except errors() as error:
        mend = "`cppless deploy` makes functions" if code(error) == "ResourceNotFoundException" else ""
        raise Problem(f"{cloud.place} does not invoke {name}: {said(error)}", mend) from error
    sys.stderr.write(base64.b64decode(answer.get("LogResult", "")).decode("utf-8", "replace"))
    return show(answer["Payload"].read(), bool(answer.get("FunctionError")), progress)


def show(answer: bytes, failed: bool, progress: Progress) -> int:
    sys.stdout.write(answer.decode("utf-8", "replace").rstrip("\n") + "\n")
    sys.stdout.flush()
    if failed:
        return 1
    try:
        data = base64.b64decode(json.loads(answer), validate=True)
        form, flags, run_ns, memory, _ = HEAD.unpack_from(data)
    except (ValueError, TypeError, struct.error):
        return 0  # of a function that is not ours
    if form == 2:
        result = data[HEAD.size:]
        if flags & UPDATES and len(result) >= 4:
            (updates,) = struct.unpack("<I", result[-4:])
            result = result[:len(result) - 4 - 16 * updates]
        shown = result[:32].hex(" ") + (" ..." if len(result) > 32 else "")
        progress.say(f"{duration(run_ns)} in the task, {memory / 2**20:.1f} MB at most, "
                     f"{'cold' if flags & 1 else 'warm'}; result of {count(len(result), 'byte')}"
                     f"{': ' + shown if result else ''}")
    return 0

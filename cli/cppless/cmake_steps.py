# SPDX-License-Identifier: Apache-2.0
"""What tools/cmake/CpplessLambda.cmake runs: not for people, so without help texts.

record-link FILE -- COMMAND   runs the command that links a program, after noting it down
package-functions             a zip per task, and functions.json, which lists them
deploy-functions DIRECTORY    as `cppless deploy`, of such a directory
musl-toolchain                (for CpplessMusl.cmake) prints compiler, library's prefix and sysroot
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path

from . import musl, package, toolchain
from .package import Package, Task
from .problem import Problem
from .progress import Progress

LIST = "functions.json"
MACHINES = {0x3E: "x86_64", 0xB7: "arm64"}


def record_link_command(options: argparse.Namespace, command: list[str], _: Progress) -> int:
    if not command:
        raise Problem("record-link needs a command after --", status=2)
    Path(options.file).write_text(json.dumps(command), "utf-8")
    os.execvp(command[0], command)


def package_functions_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    output = Path(options.output).absolute()
    program = Path(options.program).absolute()
    link = json.loads(Path(options.link).read_text("utf-8"))
    os.chdir(options.directory)  # which the link's words are relative to
    packages = package.package(package.tasks_of(program), link, "cmake", progress)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    listed = []
    for item in packages:
        archive = output / f"{options.prefix}-{item.task.identity}.zip"
        shutil.copyfile(item.archive, archive)
        executable = item.bootstrap if item.linkage == "static" else item.bootstrap.with_name("function")
        listed.append({"task": vars(item.task), "archive": archive.name, "linkage": item.linkage,
                       "size": item.size, "zipped": item.zipped, "sha256": item.sha256,
                       "architecture": architecture_of(executable)})
    for line in package.report(packages):
        print(line)
    (output / LIST).write_text(json.dumps({"format": 1, "prefix": options.prefix, "functions": listed},
                                          indent=1) + "\n", "utf-8")
    return 0


def musl_toolchain_command(_: argparse.Namespace, __: list[str], progress: Progress) -> int:
    made = toolchain.ensure(progress, toolchain.MUSL)
    print(shutil.which(toolchain.COMPILER), made.prefix, musl.sysroot(), sep="\n")
    return 0


def architecture_of(executable: Path) -> str:
    with open(executable, "rb") as file:
        machine = int.from_bytes(file.read(20)[18:20], "little")
    if machine not in MACHINES:
        raise Problem(f"{executable} is for machine {machine}, which AWS Lambda does not have")
    return MACHINES[machine]


def deploy_functions_command(options: argparse.Namespace, _: list[str], progress: Progress) -> int:
    from . import deploy, serverless

    directory = Path(options.file)
    try:
        document = json.loads((directory / LIST).read_text("utf-8"))
        packages = [Package(Task(**item["task"]), Path(), directory / item["archive"], item["linkage"],
                            item["size"], item["zipped"], item["sha256"])
                    for item in document["functions"]]
        architectures = {item["architecture"] for item in document["functions"]} or {"x86_64"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"{directory / LIST} cannot be read ({error})", "build the target again") from error
    settings = deploy.Options(deploy.function_prefix(options.prefix or document["prefix"]),
                              architectures.pop(), options.role, options.memory, options.timeout,
                              options.bucket)
    cloud = serverless.cloud_of(options)
    return serverless.carry_out(cloud, deploy.plan(cloud, packages, settings), settings, options.yes,
                                progress)

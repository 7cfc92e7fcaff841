# SPDX-License-Identifier: Apache-2.0
"""Function executables: what is in them, and that they answer Lambda's Runtime API."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import urllib.request
import zipfile
from pathlib import Path
from typing import Mapping
from unittest import mock

from .peers import emulator, free_port, wait_for
from .support import ROOT, CommandTest

sys.path.insert(0, str(ROOT / "cli"))
from cppless import package, runtime_api, toolchain  # noqa: E402
from cppless.build import Program, build  # noqa: E402
from cppless.progress import Progress  # noqa: E402

PROGRAM = """
#include <cppless/cppless.hpp>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  int base = 40;
  auto sum = cppless::async(workers, [base](int x) {
    if (x < 0) throw std::out_of_range("below zero");
    if (x == 0) std::abort();
    if (x == 1) std::printf("printed");
    static std::atomic<int> here{0};
    if (x == 77) for (++here; here % 2 != 0; ) std::this_thread::yield();  // until there are two
    return base + x; }, 2);
  using small = cppless::lambda::config<cppless::lambda::with_memory<512>, cppless::lambda::with_timeout<7>,
                                        cppless::lambda::with_ephemeral_storage<1024>>;
  auto text = cppless::async<small>(workers, [base](int x) {
    std::cout << "SECOND TASK" << std::endl;
    return std::string(x, 'x'); }, 3);
  std::printf("%d %s\\n", sum.get(), text.get().c_str());
}
"""


def request(*numbers: int) -> bytes:
    return json.dumps(base64.b64encode(struct.pack(f"<{len(numbers)}i", *numbers)).decode()).encode()


def result(answer: bytes) -> tuple[bool, bytes]:
    """Whether it was a cold start, and the returned value."""
    data = base64.b64decode(json.loads(answer), validate=True)
    head = struct.Struct("<BBQQQ")
    form, flags, _, memory, began = head.unpack_from(data)
    assert form == 2 and memory > 100_000, (form, memory)
    assert abs(began / 1e9 - time.time()) < 3600, began
    return bool(flags & 1), data[head.size:]


class PackageTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        changed = mock.patch.dict(os.environ, self.environment, clear=True)
        changed.start()
        self.addCleanup(changed.stop)
        there = os.getcwd()
        self.addCleanup(os.chdir, there)
        os.chdir(self.directory)
        self.progress = Progress(quiet=True)

    def program(self, text: str = PROGRAM, architecture: str = toolchain.HOST) -> Program:
        self.write("program.cpp", text)
        return build("program.cpp", toolchain.ensure(self.progress, architecture), self.progress)

    def packages(self, program: Program, toolchain_name: str = "") -> dict[str, package.Package]:
        """By the lambda's number in main."""
        name = toolchain_name or toolchain.ensure(self.progress).name
        found = package.package(package.tasks_of(program.executable), program.link, name, self.progress)
        return {item.task.name.partition("lambda#")[2][0]: item for item in found}


class List(PackageTest):
    def test_a_program_lists_its_tasks_with_their_settings(self) -> None:
        tasks = {task.name: task for task in package.tasks_of(self.program().executable)}
        self.assertEqual(list(sorted(tasks)), ["program.cpp@main()::lambda#1(int)",
                                               "program.cpp@main()::lambda#2(int)"])
        first, second = (tasks[name] for name in sorted(tasks))
        self.assertEqual((first.memory_mb, first.timeout_s, first.ephemeral_storage_mb), (None, None, None))
        self.assertEqual((second.memory_mb, second.timeout_s, second.ephemeral_storage_mb), (512, 7, 1024))
        self.assertRegex(first.identity, "^[0-9a-f]{16}$")
        self.assertRegex(first.root_symbol, "^cppless_task_[0-9a-f]{16}$")

    def test_a_list_that_cannot_be_written_is_said(self) -> None:
        program = self.program()
        ran = subprocess.run([str(program.executable)], env={**os.environ, "CPPLESS_LIST_TASKS": "/no/where"},
                             stderr=subprocess.PIPE, text=True)
        self.assertEqual(ran.returncode, 74)
        self.assertIn("cannot write the list of tasks to /no/where: No such file", ran.stderr)


class Functions(PackageTest):
    def run_function(self, item: package.Package, payload: bytes,
                     environment: Mapping[str, str] = {}) -> runtime_api.Invocation:
        with runtime_api.function(item.bootstrap, environment, handler=item.task.identity) as running:
            return running.invoke(payload, 30)

    def test_each_answers_its_own_task(self) -> None:
        packages = self.packages(self.program())
        first = self.run_function(packages["1"], request(40, 2))
        self.assertEqual((first.error_type, result(first.answer)), (None, (True, struct.pack("<i", 42))))
        second = self.run_function(packages["2"], request(40, 3))
        self.assertEqual(result(second.answer)[1], struct.pack("<Q", 3) + b"xxx")

    def test_the_second_request_is_warm_and_what_a_task_throws_is_reported(self) -> None:
        item = self.packages(self.program())["1"]
        with runtime_api.function(item.bootstrap) as running:
            self.assertTrue(result(running.invoke(request(40, 2), 30).answer)[0])
            failed = running.invoke(request(40, -1), 30)
            self.assertEqual((failed.error_type, json.loads(failed.answer)),
                             ("std::out_of_range", {"errorMessage": "below zero", "stackTrace": [],
                                                    "errorType": "std::out_of_range"}))
            self.assertEqual(result(running.invoke(request(40, 5), 30).answer), (False, struct.pack("<i", 45)))

    def test_as_many_requests_run_at_once_as_the_platform_sends(self) -> None:
        item = self.packages(self.program())["1"]
        with runtime_api.function(item.bootstrap, {"AWS_LAMBDA_MAX_CONCURRENCY": "2"}) as running, \
                concurrent.futures.ThreadPoolExecutor() as pool:
            both = [pool.submit(running.invoke, request(40, 77), 30) for _ in range(2)]
            answers = [result(each.result().answer) for each in both]
            self.assertEqual([value for _, value in answers], [struct.pack("<i", 117)] * 2)
            running.process.send_signal(signal.SIGTERM)
            self.assertEqual(running.process.wait(10), 0)

    def test_one_that_dies_is_told_apart(self) -> None:
        died = self.run_function(self.packages(self.program())["1"], request(40, 0))
        self.assertEqual(died.error_type, "Runtime.ExitError")

    def test_output_is_written_before_the_answer_and_sigterm_ends_well(self) -> None:
        item = self.packages(self.program())["1"]
        reading, writing = os.pipe()
        with open(reading, "rb") as out:
            with contextlib.ExitStack() as stack:
                running = stack.enter_context(runtime_api.function(item.bootstrap, output=writing))
                os.close(writing)
                running.invoke(request(40, 1), 30)
                self.assertEqual(os.read(out.fileno(), 100), b"printed")
                running.process.send_signal(signal.SIGTERM)
                self.assertEqual(running.process.wait(10), 0)

    def test_without_a_runtime_api_it_says_what_it_is(self) -> None:
        item = self.packages(self.program())["1"]
        ran = subprocess.run([str(item.bootstrap)], env={}, stderr=subprocess.PIPE, text=True)
        self.assertEqual(ran.returncode, 64)
        self.assertIn("AWS_LAMBDA_RUNTIME_API is not set", ran.stderr)

    def test_the_emulator_of_aws_runs_it(self) -> None:
        item = self.packages(self.program())["1"]
        front, back = free_port(), free_port()
        process = subprocess.Popen(
            [str(emulator()), "--runtime-interface-emulator-address", f"127.0.0.1:{front}",
             "--runtime-api-address", f"127.0.0.1:{back}", str(item.bootstrap), item.task.identity],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(front, process)
        url = f"http://127.0.0.1:{front}/2015-03-31/functions/function/invocations"
        for number, wanted in ((2, 42), (7, 47)):
            with urllib.request.urlopen(url, request(40, number), timeout=30) as answer:
                self.assertEqual(result(answer.read())[1], struct.pack("<i", wanted))
        with urllib.request.urlopen(url, request(40, -1), timeout=30) as answer:
            self.assertEqual(json.load(answer)["errorType"], "std::out_of_range")

    def test_with_a_shared_library_its_libraries_and_loader_come_along(self) -> None:
        self.write("triple.cpp", "int triple(int x) { return 3 * x; }")
        library = self.directory / "libtriple.so"
        subprocess.run(["clang++-19", "-shared", "-fPIC", "triple.cpp", "-o", str(library)], check=True)
        text = PROGRAM.replace("int main", "int triple(int);\nint main").replace("base + x", "triple(x)")
        with mock.patch.dict(os.environ, {"LDFLAGS": f"'{library}' '-Wl,-rpath,{self.directory}'"}):
            item = self.packages(self.program(text))["1"]
        self.assertEqual(item.linkage, "dynamic")
        names = zipfile.ZipFile(item.archive).namelist()
        self.assertIn("lib/libtriple.so", names)
        unpacked = self.directory / "unpacked"
        shutil.copytree(item.bootstrap.parent, unpacked)
        library.unlink()  # the one in the package is used
        with runtime_api.function(unpacked / "bootstrap") as running:
            self.assertEqual(result(running.invoke(request(40, 5), 30).answer)[1], struct.pack("<i", 15))

    def test_for_arm64_the_identity_is_the_same_and_it_runs_there(self) -> None:
        if shutil.which("qemu-aarch64-static") is None or not Path("/usr/aarch64-linux-gnu/lib/libc.a").exists():
            self.skipTest("qemu-user-static or crossbuild-essential-arm64 is not installed")
        tasks = package.tasks_of(self.program().executable)
        cross = self.program(architecture="arm64")
        found = package.package(tasks, cross.link, "arm64", self.progress)
        item = next(each for each in found if "lambda#1" in each.task.name)
        start = self.write("bootstrap", f"#!/bin/sh\nexec qemu-aarch64-static '{item.bootstrap}'\n")
        start.chmod(0o755)
        with runtime_api.function(start) as running:
            self.assertEqual(result(running.invoke(request(40, 2), 60).answer)[1], struct.pack("<i", 42))


class Contents(PackageTest):
    def test_a_package_made_again_is_the_same_bytes(self) -> None:
        program = self.program()
        once, again = self.packages(program, "one"), self.packages(program, "another")
        self.assertNotEqual(once["1"].archive, again["1"].archive)
        self.assertEqual(once["1"].sha256, again["1"].sha256)
        self.assertEqual(once["2"].sha256, again["2"].sha256)

    def test_it_is_one_executable_file_without_a_date(self) -> None:
        with zipfile.ZipFile(self.packages(self.program())["1"].archive) as archive:
            info, = archive.infolist()
        self.assertEqual((info.filename, oct(info.external_attr >> 16), info.date_time),
                         ("bootstrap", "0o100755", (1980, 1, 1, 0, 0, 0)))

    def test_code_of_other_tasks_and_of_main_is_left_out(self) -> None:
        packages = self.packages(self.program())
        self.assertNotIn(b"SECOND TASK", packages["1"].bootstrap.read_bytes())
        self.assertIn(b"SECOND TASK", packages["2"].bootstrap.read_bytes())
        self.assertNotIn(b"%d %s", packages["2"].bootstrap.read_bytes())

    def test_an_edited_task_changes_no_other_function(self) -> None:
        before = self.packages(self.program())
        after = self.packages(self.program(PROGRAM.replace("base + x", "base + 2 * x")))
        self.assertNotEqual(before["1"].sha256, after["1"].sha256)
        self.assertEqual(before["2"].sha256, after["2"].sha256)

    def test_objects_without_roots_make_one_executable_of_all_tasks(self) -> None:
        if shutil.which("g++-12") is None:
            self.skipTest("g++-12 is not installed")
        text = PROGRAM.replace("[base]", "[]").replace("base + x", "40 + x")
        self.write("gcc.cpp", text)
        prefix = toolchain.ensure(self.progress).prefix
        subprocess.run(["g++-12", "-std=c++20", "-O1", f"-I{prefix}/include", "-c", "gcc.cpp", "-o", "gcc.o"],
                       check=True)
        link = ["clang++-19", "-pthread", str(self.directory / "gcc.o"),
                *toolchain.Toolchain(prefix).link_flags()]
        subprocess.run([*link, "-o", "gcc"], check=True)
        found = package.package(package.tasks_of(self.directory / "gcc"), link, "gcc", self.progress)
        self.assertEqual(found[0].sha256, found[1].sha256)
        answers = set()
        for item in found:
            with runtime_api.function(item.bootstrap, handler=item.task.identity) as running:
                answers.add(result(running.invoke(request(3), 30).answer)[1])
        self.assertEqual(answers, {struct.pack("<i", 43), struct.pack("<Q", 3) + b"xxx"})
        with runtime_api.function(found[0].bootstrap, handler="0123456789abcdef") as running:
            self.assertEqual(running.process.wait(30), 70)
            self.assertIn(b"this program has no task '0123456789abcdef'", running.api.init_error or b"")


class Invoke(CommandTest):
    def test_a_source_is_invoked_here(self) -> None:
        self.write("program.cpp", PROGRAM)
        ran = self.cppless("invoke", "program.cpp", "--task", "lambda#1", "--payload", request(40, 2).decode())
        self.assertEqual((ran.returncode, result(ran.stdout.encode())[1]), (0, struct.pack("<i", 42)), ran.stderr)
        self.assertIn("result of 4 bytes: 2a 00 00 00", ran.stderr)
        failed = self.cppless("invoke", "program.cpp", "--task", "lambda#1", "--payload-file", "-",
                              text_in=request(40, -1).decode())
        self.assertEqual((failed.returncode, json.loads(failed.stdout)["errorType"]), (1, "std::out_of_range"))

    def test_of_several_tasks_one_must_be_chosen(self) -> None:
        self.write("program.cpp", PROGRAM)
        ran = self.cppless("invoke", "program.cpp", "--payload", '""')
        self.assertEqual(ran.returncode, 2)
        self.assertIn("2 tasks of 2 tasks fit; choose one with --task", ran.stderr)

    def test_a_payload_must_be_json(self) -> None:
        ran = self.cppless("invoke", "program.cpp", "--payload", "AAAA")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("the payload is not JSON", ran.stderr)


if __name__ == "__main__":
    unittest.main()

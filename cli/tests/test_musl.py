# SPDX-License-Identifier: Apache-2.0
"""Functions linked with musl and libc++, while the host has glibc and libstdc++."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from .support import ROOT
from .test_package import PROGRAM, PackageTest, request, result

sys.path.insert(0, str(ROOT / "cli"))
from cppless import cache, musl, package, runtime_api, toolchain  # noqa: E402
from cppless.problem import Problem  # noqa: E402

TYPES = """
#include <cppless/cppless.hpp>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
struct point { int x; double y; std::string name; std::vector<point> more; };
template <class T> struct box { T value; };
std::string shout(std::string text, std::size_t times) { return text + std::to_string(times); }
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  std::string own = "x";
  using maps = std::vector<std::map<std::string, std::optional<double>>>;
  cppless::async(workers, [own](maps all) { return own + all[0].begin()->first; }, maps{{{"a", 1.0}}}).get();
  cppless::async(workers, [](point p, box<std::set<long>> b, std::array<std::int64_t, 3> c) {
    return p.x + c[0] + *b.value.begin(); },
    point{1, 2, "p", {}}, box<std::set<long>>{{4}}, std::array<std::int64_t, 3>{}).get();
  using numbers = std::unordered_map<std::string, int>;
  using nested = std::tuple<int, std::pair<char, bool>>;
  cppless::async(workers, [](numbers m, nested t, std::variant<int, std::string> v) {
    return m.size() + std::get<0>(t) + v.index(); }, numbers{}, nested{}, std::variant<int, std::string>{}).get();
  cppless::async(workers, cppless::fn<&shout>, std::string("a"), std::size_t{2}).get();
}
"""

CLOCK = """
#include <cppless/cppless.hpp>
#include <chrono>
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  return cppless::async(workers, [](std::chrono::system_clock::duration d) { return static_cast<int>(d.count()); },
                        std::chrono::system_clock::duration{}).get();
}
"""

NESTED = """
#include <cppless/cppless.hpp>
int main() {
  return cppless::dispatch([](int n) { return cppless::dispatch([](int m) { return m - 1; }, n) - 1; }, 2);
}
"""


class Musl(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        try:
            toolchain.ensure(self.progress, toolchain.MUSL)
        except Problem as problem:
            if "cannot be had from PyPI" not in str(problem):
                raise
            self.skipTest("ziglang cannot be had from PyPI")

    def with_musl(self, text: str) -> list[package.Package]:
        program = self.program(text, toolchain.MUSL)
        return package.package(package.tasks_of(program.executable), program.link, "musl", self.progress)

    def test_tasks_are_the_same_with_both_c_plus_plus_libraries(self) -> None:
        for text, count in ((PROGRAM, 2), (TYPES, 4)):
            here = package.tasks_of(self.program(text).executable)
            there = package.tasks_of(self.program(text, toolchain.MUSL).executable)
            self.assertEqual(len(here), count)
            self.assertEqual({task.identity: task for task in here}, {task.identity: task for task in there})
            package.check_same(here, there)

    def test_functions_are_less_than_half_as_large(self) -> None:
        item, _ = sorted(self.with_musl(PROGRAM), key=lambda item: item.task.name)
        usual = self.packages(self.program())["1"]
        self.assertLess(item.size, usual.size / 2)  # without streams, which the other task uses
        self.assertLess(item.zipped, usual.zipped / 2)

    def test_functions_answer_print_and_throw(self) -> None:
        first, second = sorted(self.with_musl(PROGRAM), key=lambda item: item.task.name)
        with runtime_api.function(first.bootstrap) as running:
            self.assertEqual(result(running.invoke(request(40, 2), 30).answer), (True, struct.pack("<i", 42)))
            failed = running.invoke(request(40, -1), 30)
            self.assertEqual(json.loads(failed.answer)["errorType"], "std::out_of_range")
            self.assertEqual(result(running.invoke(request(40, 3), 30).answer), (False, struct.pack("<i", 43)))
        with open("printed", "wb") as printed, runtime_api.function(second.bootstrap, output=printed.fileno()) as running:
            self.assertEqual(result(running.invoke(request(40, 3), 30).answer)[1], struct.pack("<Q", 3) + b"xxx")
        self.assertEqual((self.directory / "printed").read_text(), "SECOND TASK\n")

    def test_a_program_linked_with_musl_has_worker_processes(self) -> None:
        program = self.program(PROGRAM, toolchain.MUSL).executable
        ran = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (0, "42 xxx\n"))

    def test_a_task_whose_types_differ_between_the_libraries_is_refused(self) -> None:
        here = package.tasks_of(self.program(CLOCK).executable)
        with self.assertRaises(Problem) as caught:
            package.check_same(here, package.tasks_of(self.program(CLOCK, toolchain.MUSL).executable))
        self.assertIn("std::chrono::duration<long long", str(caught.exception))
        self.assertIn("use the toolchain native", str(caught.exception))

    def test_a_task_that_dispatches_tasks_is_refused(self) -> None:
        with self.assertRaises(Problem) as caught:
            self.with_musl(NESTED)
        self.assertIn("it dispatches tasks itself", str(caught.exception))

    def test_the_host_calls_what_was_deployed_with_musl(self) -> None:
        with tempfile.TemporaryDirectory(prefix="cppless-platform-") as state:
            self.environment |= {"HOME": str(self.directory), "CPPLESS_PLATFORM_STATE": state}
            self.write("program.cpp", PROGRAM)
            self.assertEqual(self.cppless("platform", "start", "--port", "0", "--tls-port", "0").returncode, 0)
            self.addCleanup(self.cppless, "platform", "stop")
            said = self.cppless("platform", "status", "--env").stdout
            self.environment |= dict(re.findall(r"^export (\w+)=(.*)$", said, re.M))
            ran = self.cppless("deploy", "program.cpp", "--yes", "--toolchain", "musl")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.environment["CPPLESS_DISPATCHER"] = "lambda"
            self.assertEqual(self.cppless("deploy", "program.cpp", "--toolchain", "musl").stdout.count("2 unchanged"), 1)
            self.assertEqual(self.cppless("run", "program.cpp", "--dispatcher", "lambda", "-q").stdout, "42 xxx\n")
            self.cppless("platform", "stop")

    def test_it_is_for_this_machine_only(self) -> None:
        self.write("program.cpp", PROGRAM)
        ran = self.cppless("deploy", "program.cpp", "--toolchain", "musl", "--architecture", "arm64")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("the toolchain musl is for x86_64, not for arm64", ran.stderr)


class WithoutNetwork(PackageTest):
    def test_that_ziglang_cannot_be_had_is_said_and_half_a_sysroot_does_not_count(self) -> None:
        nowhere = {"XDG_CACHE_HOME": str(self.directory), "PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_RETRIES": "0"}
        with mock.patch.dict(os.environ, nowhere):
            with self.assertRaises(Problem) as caught:
                musl.ensure(toolchain.COMPILER, self.progress)
            self.assertFalse(cache.is_complete(musl.sysroot()))
        self.assertIn("ziglang cannot be had from PyPI", str(caught.exception))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""`cppless logs` and `cppless cost` of functions that run on a local cloud of the tests' own."""

from __future__ import annotations

import base64
import json
import re
import signal
import struct
import tempfile
import time
import unittest

from .support import CommandTest

PROGRAM = """
#include <cppless/cppless.hpp>
#include <cstdio>
int main() {
  cppless::instance workers = cppless::default_dispatcher{}.create_instance();
  using small = cppless::lambda::config<cppless::lambda::with_memory<512>>;
  std::vector<cppless::future<int>> all;
  for (int i = 0; i < 5; ++i)
    all.push_back(cppless::async<small>(workers, [](int x) { std::printf("said %d\\n", x); return x; }, i));
  for (auto& each : all) each.get();
}
"""


def payload(number: int) -> str:
    return json.dumps(base64.b64encode(struct.pack("<i", number)).decode())


class Logs(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        state = tempfile.TemporaryDirectory(prefix="cppless-platform-")
        self.addCleanup(state.cleanup)
        self.write("program.cpp", PROGRAM)
        self.environment |= {"HOME": str(self.directory), "CPPLESS_PLATFORM_STATE": state.name}
        self.good("platform", "start", "--port", "0", "--tls-port", "0")
        self.addCleanup(self.cppless, "platform", "stop")
        said = self.good("platform", "status", "--env")
        self.environment |= dict(re.findall(r"^(?:export )?(\w+)=(.*)$", said, re.M))

    def good(self, *words: str, text_in: str = "") -> str:
        ran = self.cppless(*words, text_in=text_in)
        self.assertEqual(ran.returncode, 0, f"{words}: {ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def invoke(self, number: int) -> None:
        self.good("invoke", "program.cpp", "--remote", "--payload", payload(number))

    def once_all_is_there(self, count: int) -> str:
        """The log is written beside the answers, not before them."""
        end = time.monotonic() + 60
        while (text := self.good("logs", "program.cpp")).count("REPORT ") < count and time.monotonic() < end:
            time.sleep(0.05)
        return text

    def test_a_run_is_in_the_log_and_on_the_bill(self) -> None:
        self.good("run", "program.cpp", "--dispatcher", "lambda", "-q")
        text = self.once_all_is_there(5)
        self.assertEqual(sorted(re.findall(r"  said (\d)$", text, re.M)), list("01234"))
        self.assertEqual([len(re.findall(rf"  {word} RequestId: ", text)) for word in ("START", "END", "REPORT")], [5, 5, 5])
        billed = [int(each) for each in re.findall(r"Billed Duration: (\d+) ms\tMemory Size: 512 MB", text)]
        cold = text.count("Init Duration: ")
        self.assertEqual(len(billed), 5)
        self.assertGreaterEqual(cold, 1)
        table = self.good("cost", "program.cpp")
        self.assertRegex(table, r"invocations +5\n")
        self.assertRegex(table, rf"cold starts +{cold}\n")
        self.assertRegex(table, rf"billed time +{sum(billed) / 1000:.3f} s\n")
        compute = re.search(r"compute +([\d.]+) GB-s, \$", table)
        self.assertAlmostEqual(float(compute[1]) if compute else -1, sum(billed) / 2000, delta=0.00051)
        self.assertEqual(self.good("cost", "-", text_in=text), table)

    def test_arm64_costs_a_fifth_less_for_the_same_log(self) -> None:
        self.good("deploy", "program.cpp", "--yes", "-q")
        self.invoke(3)
        self.once_all_is_there(1)

        def compute(*words: str) -> float:
            found = re.search(r"^compute .*, \$([\d.]+)$", self.good("cost", "program.cpp", *words), re.M)
            assert found
            return float(found[1])

        self.assertAlmostEqual(compute("--architecture", "arm64") / compute(), 0.8, delta=0.01)

    def test_what_is_printed_is_followed_until_it_is_interrupted(self) -> None:
        self.good("deploy", "program.cpp", "--yes", "-q")
        self.invoke(1)
        self.once_all_is_there(1)
        following = self.start("logs", "program.cpp", "--follow")
        self.eventually(lambda: "said 1\n" in self.out())
        for number in (2, 3):
            self.invoke(number)
            self.eventually(lambda: f"said {number}\n" in self.out())
        self.assertIsNone(following.poll())
        following.send_signal(signal.SIGINT)
        self.assertEqual(following.wait(30), 130)
        self.assertEqual(re.findall(r"  said (\d)$", self.out(), re.M), ["1", "2", "3"])
        self.assertEqual(self.err(), "")

    def test_a_function_that_is_not_deployed_has_no_log(self) -> None:
        ran = self.cppless("logs", "program.cpp")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no function of program is deployed", ran.stderr)
        self.assertIn("cppless deploy program.cpp --yes", ran.stderr)


if __name__ == "__main__":
    unittest.main()

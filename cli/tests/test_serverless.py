# SPDX-License-Identifier: Apache-2.0
"""`cppless platform` and `cppless run --dispatcher lambda`: every example on a local cloud of its own."""

from __future__ import annotations

import socket
import subprocess
import tempfile

from .support import ROOT, CommandTest

# Small enough for a test; the sizes of examples/CMakeLists.txt.
EXAMPLES = {
    "pi": "--tasks 16 --darts 20000",
    "nqueens": "--n 9",
    "ray": "--width 48 --height 27 --samples 4 --tile 12 --shapes 100",
    "knapsack": "--items 26 --prefix 6",
    "floorplan": "--cells 7",
    "fibonacci": "--n 16 --cutoff 12",
    "wordcount": "--megabytes 1 --piece 100000",
    "alignment": "--length 600 --tile 200 --executor 2",
}


class Serverless(CommandTest):
    state: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.state = tempfile.TemporaryDirectory(prefix="cppless-platform-")
        cls.addClassCleanup(cls.state.cleanup)

    def setUp(self) -> None:
        super().setUp()
        self.environment |= {"HOME": str(self.directory), "CPPLESS_PLATFORM_STATE": self.state.name}
        self.addCleanup(self.cppless, "platform", "stop")

    def good(self, *words: str) -> subprocess.CompletedProcess[str]:
        ran = self.cppless(*words)
        self.assertEqual(ran.returncode, 0, f"{words}: {ran.stdout}\n{ran.stderr}")
        return ran

    def test_every_example_runs_unchanged_and_verifies_its_answer(self) -> None:
        for name, words in EXAMPLES.items():
            with self.subTest(name):
                ran = self.good("run", str(ROOT / "examples" / f"{name}.cpp"), "--dispatcher", "lambda", "--",
                                *words.split())
                self.assertIn("verified", ran.stdout)
                self.assertRegex(ran.stderr, r"GB-s")

    def test_functions_may_throw_die_hang_and_eat_memory_while_the_cloud_is_killed(self) -> None:
        ran = subprocess.run([ROOT / "tests" / "faults" / "cloud.py", "--invocations", "600", "--restarts", "1"],
                             env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(ran.returncode, 0, f"{ran.stdout}\n{ran.stderr}")
        self.assertIn(" 0 wrong", ran.stdout)

    def test_it_starts_says_what_it_holds_and_stops(self) -> None:
        self.assertEqual(self.cppless("platform", "status").returncode, 1)
        self.good("platform", "start", "--port", "0", "--tls-port", "0")
        self.assertIn("AWS_ENDPOINT_URL=http://127.0.0.1:", self.good("platform", "status", "--env").stdout)
        self.assertEqual(self.good("platform", "status").stdout.count("http://127.0.0.1:"), 1)
        self.good("platform", "start")  # it runs already
        self.good("platform", "stop")
        self.assertEqual(self.cppless("platform", "status").returncode, 1)

    def test_a_taken_port_does_not_keep_a_run_from_its_cloud(self) -> None:
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", 9555))
                taken.listen()
            except OSError:
                pass  # by somebody else: as good
            ran = self.good("run", str(ROOT / "examples" / "pi.cpp"), "--dispatcher", "lambda", "--", "--tasks", "2",
                            "--darts", "1000")
        self.assertIn("verified", ran.stdout)

# SPDX-License-Identifier: Apache-2.0
"""`cppless detached` on a folder as the library writes it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .support import COMMAND, ROOT

sys.path.insert(0, str(ROOT / "cli"))
from cppless import detached  # noqa: E402

RUNNING, DONE, FAILED, LOST, DAMAGED = (digit * 32 for digit in "12345")

KEEPS = """
import fcntl, sys, time
file = open(sys.argv[1], "w+")
fcntl.lockf(file, fcntl.LOCK_EX)
file.write("the task")
file.flush()
print("kept", flush=True)
time.sleep(3600)
"""


class Detached(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="cppless-test-")
        self.addCleanup(holder.cleanup)
        self.spool = Path(holder.name)
        for name in (RUNNING, DONE, FAILED, LOST, DAMAGED):
            (self.spool / name).mkdir()
            (self.spool / name / "keeper").write_text("the task")
        done = bytearray(detached.failure(0, ""))
        done[12] = 0
        (self.spool / DONE / "result").write_bytes(done)
        (self.spool / FAILED / "result").write_bytes(detached.failure(0, "it threw"))
        (self.spool / DAMAGED / "result").write_bytes(b"cpp")
        self.keeper = subprocess.Popen([sys.executable, "-c", KEEPS, self.spool / RUNNING / "keeper"],
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_keeper)
        assert self.keeper.stdout is not None
        self.assertEqual(self.keeper.stdout.readline(), "kept\n")

    def end_keeper(self) -> None:
        self.keeper.kill()
        self.keeper.communicate()

    def run_cppless(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([COMMAND, "detached", *words], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, CPPLESS_DETACHED_DIR=str(self.spool)))

    def states(self) -> dict[str, str]:
        lines = self.run_cppless("list").stdout.splitlines()
        self.assertTrue(all(line.endswith("the task") for line in lines), lines)
        return {line.split()[0]: line.split()[1] for line in lines}

    def test_every_task_is_listed_with_its_state(self) -> None:
        self.assertEqual(self.states(), {RUNNING: "running", DONE: "done", FAILED: "failed", LOST: "lost",
                                         DAMAGED: "damaged"})

    def test_a_task_that_runs_is_cancelled_and_can_be_removed_then(self) -> None:
        refused = self.run_cppless("remove", RUNNING)
        self.assertEqual((refused.returncode, "is running" in refused.stderr), (1, True), refused.stderr)
        self.assertEqual(self.run_cppless("cancel", RUNNING).returncode, 0)
        self.assertEqual(self.keeper.wait(60), -9)
        self.assertEqual(self.states()[RUNNING], "failed")
        self.assertIn(b"was cancelled", (self.spool / RUNNING / "result").read_bytes())
        self.assertEqual(self.run_cppless("remove", RUNNING).returncode, 0)
        self.assertFalse((self.spool / RUNNING).exists())
        self.assertIn("does not run", self.run_cppless("cancel", LOST).stderr)

    def test_a_log_is_printed(self) -> None:
        (self.spool / DONE / "log").write_text("said\n")
        self.assertEqual(self.run_cppless("log", DONE).stdout, "said\n")
        self.assertEqual(self.run_cppless("log", "../../etc").returncode, 2)
        self.assertEqual(self.run_cppless("log", "0" * 32).returncode, 1)

    def test_a_folder_that_others_may_enter_is_refused(self) -> None:
        self.spool.chmod(0o755)
        refused = self.run_cppless("list")
        self.spool.chmod(0o700)
        self.assertEqual((refused.returncode, "mode 0755" in refused.stderr), (1, True), refused.stderr)


if __name__ == "__main__":
    unittest.main()

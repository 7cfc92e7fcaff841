# SPDX-License-Identifier: Apache-2.0
"""State survives; damage is named and nothing is guessed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
import unittest

from cloud import SERVER, Cloud, code


class Restart(unittest.TestCase):
    def setUp(self) -> None:
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)
        self.cloud.create("f", Code={"ZipFile": code(note=b"one")}, Environment={"Variables": {"KEPT": "yes"}}, Publish=True)
        client = self.cloud.client()
        client.create_alias(FunctionName="f", Name="live", FunctionVersion="1")
        client.put_function_concurrency(FunctionName="f", ReservedConcurrentExecutions=7)

    def refuses_to_start(self) -> str:
        ended = subprocess.run([SERVER, "--state", self.cloud.state, "--port", "0", "--tls-port", "0"], capture_output=True, text=True, timeout=30)
        self.assertEqual(ended.returncode, 1)
        return ended.stderr

    def test_functions_versions_and_keys_are_there_after_a_restart(self) -> None:
        keys = self.cloud.keys()
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.cloud.stop(number)
            self.cloud.start()
            self.assertEqual(self.cloud.keys(), keys)
            self.assertIn("KEPT=yes", self.cloud.run("f", "environment"))
            self.assertEqual(self.cloud.invoke("f", "read", "/var/task/note", Qualifier="live")["Payload"], "one")
            made = self.cloud.client().get_function(FunctionName="f")
            self.assertEqual(made["Concurrency"]["ReservedConcurrentExecutions"], 7)

    def test_a_damaged_state_file_is_named(self) -> None:
        self.cloud.stop()
        file = self.cloud.state / "account" / "state.json"
        whole = file.read_text()
        for damage in (whole[:-40], whole.replace('"KEPT"', '"LOST"'), "", "garbage\n{}", "\0" * 100):
            file.write_text(damage)
            self.assertIn(str(file), self.refuses_to_start())
        file.write_text(whole)
        self.cloud.start()
        self.cloud.run("f", "count")

    def test_a_missing_state_file_is_named(self) -> None:
        self.cloud.stop()
        file = self.cloud.state / "account" / "state.json"
        file.rename(file.with_suffix(".away"))
        self.assertIn(f"{file} is missing", self.refuses_to_start())

    def test_missing_code_is_named(self) -> None:
        self.cloud.stop()
        [folder] = [each for each in (self.cloud.state / "account" / "code").iterdir() if each.is_dir()]
        shutil.rmtree(folder)
        message = self.refuses_to_start()
        self.assertIn(str(folder), message)
        self.assertIn("function f", message)

    def test_keys_that_others_can_read_are_refused(self) -> None:
        self.cloud.stop()
        (self.cloud.state / "credentials").chmod(0o644)
        self.assertIn("credentials can be read by others", self.refuses_to_start())

    def test_two_servers_do_not_share_a_directory(self) -> None:
        self.assertIn("another platform uses", self.refuses_to_start())

    def test_a_port_that_is_taken_is_named(self) -> None:
        ended = subprocess.run([SERVER, "--state", self.cloud.directory / "other", "--port", str(self.cloud.port)],
                               capture_output=True, text=True, timeout=30)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(str(self.cloud.port), ended.stderr)

    def test_what_runs_may_finish_when_the_server_is_asked_to_end(self) -> None:
        answers = []
        running = threading.Thread(target=lambda: answers.append(self.cloud.run("f", "sleep", "1.5")))
        running.start()
        time.sleep(0.7)
        self.assertEqual(self.cloud.stop(), 0)
        running.join()
        self.assertEqual(answers, ["slept"])


if __name__ == "__main__":
    unittest.main()

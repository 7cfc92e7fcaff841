# SPDX-License-Identifier: Apache-2.0
"""Functions that try what they must not be able to do. Runs where the kernel gives sandboxes (root here)."""

from __future__ import annotations

import ctypes
import os
import subprocess
import unittest

from cloud import Cloud, code

LIBC = ctypes.CDLL(None, use_errno=True)


def lose_right_to_mount() -> None:
    """As in most containers: root, but without CAP_SYS_ADMIN."""
    drop_from_bounding_set, sys_admin = 24, 21
    if LIBC.prctl(drop_from_bounding_set, sys_admin, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


class Isolation(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cloud = Cloud()
        for each in cls.cloud.missing:
            if "namespace" in each or "file system" in each:
                cls.cloud.close()
                raise unittest.SkipTest(each)
        cls.cloud.create("f", Code={"ZipFile": code(secret=b"mine")})
        cls.cloud.create("g", Code={"ZipFile": code(secret=b"of another")})

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cloud.close()

    def run_(self, do: str, with_: str = "") -> str:
        return self.cloud.run("f", do, with_)

    def test_it_sees_its_own_code_and_cannot_change_it(self) -> None:
        self.assertEqual(self.run_("read", "/var/task/secret"), "mine")
        for path in ("/var/task/secret", "/var/task/new", "/usr/new", "/etc/passwd", "/new"):
            self.assertRegex(self.run_("write", path), "^error: (Read-only|Permission)", path)

    def test_it_cannot_reach_the_platforms_files_or_another_functions(self) -> None:
        state = self.cloud.state
        zips = list((state / "account" / "code").iterdir())
        self.assertTrue(zips)
        for path in (state / "credentials", state / "account" / "state.json", state / "tls" / "server.key", *zips,
                     "/.platform", "/.platform/code", "/.host", "/root", "/home", "/etc/shadow", "/proc/1/environ",
                     "/proc/1/root/root", "/proc/1/fd", "/proc/1/cwd/etc/shadow", "/sys", "/run", "/var/log"):
            self.assertRegex(self.run_("read", str(path)), "^(error: |$)", path)
            self.assertRegex(self.run_("list", str(path)), "^(error: |\\.\\n\\.\\.\\n$|\\.\\.\\n\\.\\n$)", path)

    def test_it_sees_no_process_but_its_own(self) -> None:
        numbers = {int(name) for name in self.run_("list", "/proc").split() if name.isdigit()}
        self.assertLessEqual(numbers, {1, 2, 3})
        self.assertRegex(self.run_("kill", str(self.cloud.server.pid)), "^error: No such process")
        self.assertRegex(self.run_("kill", "1"), "^killed$|^error")  # init ignores it or it is not ours
        self.assertEqual(self.run_("count")[:1].isdigit(), True)

    def test_what_it_inherits_is_what_a_function_shall_have(self) -> None:
        found = self.run_("environment")
        names = {line.split("=")[0] for line in found.splitlines()}
        self.assertIn("AWS_LAMBDA_RUNTIME_API=127.0.0.1:9001", found)
        self.assertLessEqual(names, {
            "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_LOG_GROUP_NAME",
            "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_INITIALIZATION_TYPE", "_HANDLER", "AWS_REGION", "AWS_DEFAULT_REGION",
            "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAMBDA_TASK_ROOT", "LAMBDA_RUNTIME_DIR", "PATH",
            "LD_LIBRARY_PATH", "LANG", "TZ", "AWS_LAMBDA_RUNTIME_API", "AWS_ENDPOINT_URL"})
        self.assertNotIn(self.cloud.keys()[0], found)
        self.cloud.create("fresh")
        self.assertLessEqual(set(self.cloud.run("fresh", "list", "/proc/self/fd").split()), {".", "..", "0", "1", "2", "3"})

    def test_it_has_no_network_but_the_platform(self) -> None:
        self.assertIn("MissingAuthenticationTokenException", self.run_("platform"))
        for address in (f"127.0.0.1:{self.cloud.port}", "1.1.1.1:53", "127.0.0.1:22"):
            self.assertRegex(self.run_("connect", address), "^error", address)
        self.assertEqual(self.run_("list", "/sys/class/net")[:5], "error")

    def test_it_cannot_mount_or_become_root(self) -> None:
        self.assertRegex(self.run_("mount"), "^error: Operation not permitted")
        self.assertRegex(self.run_("setuid"), "^error")

    def test_its_tmp_is_its_own_and_limited(self) -> None:
        self.cloud.create("roomy", MemorySize=2048, EphemeralStorage={"Size": 512})
        self.assertEqual(self.cloud.run("roomy", "fill", "600"), "512")
        self.assertEqual(self.run_("write", "/tmp/left"), "written")
        self.assertNotIn("left", self.cloud.run("g", "list", "/tmp"))
        self.assertFalse(os.path.exists("/tmp/left"))

    def test_it_cannot_fork_without_end(self) -> None:
        self.cloud.create("forking", Timeout=60, MemorySize=1769)
        self.assertLess(int(self.cloud.run("forking", "fork")), 1025)
        self.cloud.run("g", "count")

    def test_nothing_is_left_when_the_server_ends_or_is_killed(self) -> None:
        for number in (15, 9):
            cloud = Cloud()
            self.addCleanup(cloud.close)
            cloud.create("left")
            cloud.run("left", "count")
            self.assertTrue(self.processes_of(cloud))
            cloud.stop(number)
            import time
            end = time.monotonic() + 10
            while self.processes_of(cloud) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(self.processes_of(cloud), [])
            found = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "5", "-name", f"cppless-platform-{cloud.server.pid}"],
                                   capture_output=True, text=True).stdout
            self.assertEqual(found, "")
            cloud.close()

    @staticmethod
    def processes_of(cloud: Cloud) -> list[str]:
        """Bootstraps whose code is below this cloud's state."""
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and str(cloud.state) in open(f"/proc/{name}/mountinfo").read() and int(name) != cloud.server.pid:
                    if open(f"/proc/{name}/cmdline").read():
                        found.append(name)
            except OSError:
                continue
        return found


@unittest.skipUnless(os.geteuid() == 0, "another user has no such right anyway")
class Unconfined(unittest.TestCase):
    def test_without_sandboxes_functions_run_and_the_server_says_so(self) -> None:
        cloud = Cloud(before_start=lose_right_to_mount)
        self.addCleanup(cloud.close)
        self.assertTrue(any("namespace" in each for each in cloud.missing), cloud.missing)
        cloud.create("f", Code={"ZipFile": code(secret=b"mine")})
        self.assertEqual(cloud.run("f", "read", "/var/task/secret"), "mine")
        self.assertEqual(cloud.run("f", "count"), "1")
        self.assertIn("exit status 7", cloud.invoke("f", "exit", "7")["Payload"]["errorMessage"])
        self.assertRegex(cloud.run("f", "read", str(cloud.state / "credentials")), "^error: Permission denied")


if __name__ == "__main__":
    unittest.main()

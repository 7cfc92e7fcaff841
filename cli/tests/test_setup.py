# SPDX-License-Identifier: Apache-2.0
"""tools/setup with a package that is missing for sure, and with apt-get, sudo and id played."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from .support import ROOT


class Setup(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        text = (ROOT / "tools" / "setup").read_text("utf-8")
        line = "absent|absent-dev|/nowhere/absent*.h|this test"
        self.script = self.play("setup", text.replace("<<'TABLE'\n", f"<<'TABLE'\n{line}\n", 1))

    def play(self, name: str, script: str) -> Path:
        path = self.directory / name
        path.write_text(script, "utf-8")
        path.chmod(0o755)
        return path

    def setup_(self, *words: str, user: int = 0) -> subprocess.CompletedProcess[str]:
        self.play("id", f"#!/bin/sh\necho {user}\n")
        if not (self.directory / "apt-get").exists():
            self.play("apt-get", '#!/bin/sh\necho "$DEBIAN_FRONTEND apt-get $*" >> "$APT_LOG"\n')
        environment = {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}",
                       "APT_LOG": str(self.directory / "log")}
        environment.pop("CPPLESS_APT_IS_FRESH", None)
        environment.pop("DEBIAN_FRONTEND", None)
        return subprocess.run([str(self.script), *words], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def log(self) -> list[str]:
        return (self.directory / "log").read_text("utf-8").splitlines()

    def test_says_what_and_why_then_updates_once_and_installs(self) -> None:
        result = self.setup_("absent", "python")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"absent-dev +this test\n(.*\n)*.*installing packages")
        self.assertEqual(self.log(), [
            " apt-get update -q",
            "noninteractive apt-get install -q -y --no-install-recommends --no-remove absent-dev"])

    def test_without_root_and_sudo_it_prints_the_command(self) -> None:
        self.play("sudo", "#!/bin/sh\nexit 1\n")
        result = self.setup_("absent", user=1000)
        self.assertEqual(result.returncode, 3)
        self.assertIn("sudo apt-get install -y --no-install-recommends --no-remove absent-dev\n",
                      result.stderr)
        self.assertFalse((self.directory / "log").exists())

    def test_with_sudo_it_installs_as_root(self) -> None:
        self.play("sudo", '#!/bin/sh\ncase $1 in -*) exit 0;; esac\necho sudo >> "$APT_LOG"\nexec "$@"\n')
        result = self.setup_("absent", user=1000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.log()[::2], ["sudo", "sudo"])

    def test_a_failing_apt_get_shows_its_output_and_fails(self) -> None:
        self.play("apt-get", "#!/bin/sh\necho no such package; exit 100\n")
        result = self.setup_("absent")
        self.assertEqual(result.returncode, 3)
        self.assertIn("no such package", result.stderr)
        self.assertIn("cppless: error: ", result.stderr)

    def test_missing_lists_packages_and_reasons(self) -> None:
        result = self.setup_("--missing", "absent")
        self.assertEqual((result.returncode, result.stdout), (1, "absent-dev\tthis test\n"))

    def test_nothing_missing_is_silent(self) -> None:
        result = self.setup_("python")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_an_unknown_component_is_refused(self) -> None:
        result = self.setup_("compiler")
        self.assertEqual(result.returncode, 2)
        self.assertIn('no component "compiler"', result.stderr)

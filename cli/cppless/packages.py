# SPDX-License-Identifier: Apache-2.0
"""Missing Debian packages: found and installed by tools/setup, which holds the one list of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .problem import Quit


def setup_script() -> Path:
    return repository() / "tools" / "setup"


def repository() -> Path:
    return Path(__file__).resolve().parents[2]


def missing(component: str) -> list[tuple[str, str]]:
    """(package, what for) of everything that `component` lacks."""
    found = subprocess.run([setup_script(), "--missing", component], stdout=subprocess.PIPE, text=True)
    return [(package, why) for package, why in
            (line.split("\t", 1) for line in found.stdout.splitlines())]


def install_command(component: str) -> str:
    return subprocess.run([setup_script(), "--command", component], stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def ensure(component: str) -> None:
    """Installs what `component` lacks. tools/setup says what and why, and what to do if it cannot."""
    status = subprocess.run([setup_script(), component]).returncode
    if status != 0:
        raise Quit(status if status > 0 else 128 - status)

# SPDX-License-Identifier: Apache-2.0
"""An error that the user can do something about."""

from __future__ import annotations


class Problem(Exception):
    """`message` says what is wrong, `mend` what to do; both become one line."""

    def __init__(self, message: str, mend: str = "", status: int = 1) -> None:
        super().__init__(f"{message}: {mend}" if mend else message)
        self.status = status


class Quit(Exception):
    """Ends the command with `status`; everything has been said."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status

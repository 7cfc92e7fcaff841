#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/faults/cloud.cpp on a local cloud of its own.

    tests/faults/cloud.py [--invocations N] [--restarts N]

--restarts: kill the server in the middle that often and start it again; what runs then is lost and
tried again.
Fails if a task ends wrongly or twice, or if anything of the cloud is left behind.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cli"))
from cppless import platform  # noqa: E402
from cppless.progress import Progress  # noqa: E402
from tests import peers  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--invocations", type=int, default=10_000)
    parser.add_argument("--restarts", type=int, default=0)
    options = parser.parse_args()
    with peers.local_cloud() as cloud:
        ports = ["--port", str(cloud.port), "--tls-port", str(cloud.tls_port)]
        program = subprocess.Popen([ROOT / "cppless", "run", ROOT / "tests" / "faults" / "cloud.cpp",
                                    "--dispatcher", "lambda", "--", "--invocations", str(options.invocations)])
        for _ in range(options.restarts):
            time.sleep(3)
            os.kill(cloud.pid, signal.SIGKILL)
            while platform.is_server(cloud.pid):
                time.sleep(0.01)
            cloud = platform.start(cloud.state, ports, Progress())
        status = program.wait()
    left = subprocess.run(["pgrep", "-f", str(cloud.state)], stdout=subprocess.PIPE, text=True).stdout.split()
    if left:
        print(f"left behind: processes {' '.join(left)}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())

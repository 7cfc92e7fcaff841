# SPDX-License-Identifier: Apache-2.0
"""All tests of the command: `python3 -m tests` in cli/.

Each module is a process of its own, as many at once as there are cores: most of them wait for
compilers and servers. `python3 -m unittest -v tests.test_NAME` runs one alone.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST = ("test_musl", "test_package")  # which build most


def run(module: str) -> tuple[int, str]:
    begin = time.monotonic()
    ran = subprocess.run([sys.executable, "-m", "unittest", "-v", f"tests.{module}"], cwd=HERE.parent, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return ran.returncode, f"== {module}, {time.monotonic() - begin:.0f} s\n{ran.stdout}"


def main() -> int:
    modules = sorted((path.stem for path in HERE.glob("test_*.py")), key=lambda name: name not in FIRST)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for ended in concurrent.futures.as_completed([pool.submit(run, module) for module in modules]):
            status, text = ended.result()
            if status == 0:
                print(text, flush=True)
            else:
                failed.append(text)
    print("\n".join(failed), flush=True)  # last, where they are seen
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

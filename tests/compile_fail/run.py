# SPDX-License-Identifier: Apache-2.0
"""Compiles sources that must be refused, and looks for the message each names.

    run.py --include library/include --compiler g++ --compiler clang++-19 DIRECTORY

A source holds `// ERROR: TEXT` lines; the compiler must fail and say each TEXT. One with
`// ERROR-FREE` must compile: proof that it is the mistake that the others are refused for.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

LIMIT = 300  # seconds for one compilation


def problem_of(compiler: str, include: str, path: Path) -> str | None:
    source = path.read_text(encoding="utf-8")
    expected = re.findall(r"^// ERROR: (.*)$", source, re.MULTILINE)
    is_right = "// ERROR-FREE" in source
    if not expected and not is_right:
        return "has neither an ERROR nor an ERROR-FREE line"
    result = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I" + include, str(path)],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=LIMIT, check=False)
    if is_right:
        return None if result.returncode == 0 else f"must compile, but:\n{result.stdout}"
    if result.returncode == 0:
        return "compiles, but must not"
    # Where a message is wrapped or quoted differs, its words do not.
    said = " ".join(result.stdout.split())
    missing = [text for text in expected if text not in said]
    return f"says nothing of {missing}:\n{result.stdout[:3000]}" if missing else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--include", required=True)
    parser.add_argument("--compiler", action="append", required=True)
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    jobs = [(compiler, path) for compiler in options.compiler
            for path in sorted(options.directory.glob("*.cpp"))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = pool.map(lambda job: problem_of(job[0], options.include, job[1]), jobs)
        for (compiler, path), problem in zip(jobs, problems):
            failed += problem is not None
            print(f"{path.stem} with {Path(compiler).name}: {problem or 'ok'}", flush=True)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, twice in one file (its include guard), with warnings as errors.

    headers.py INCLUDE_DIRECTORY COMPILER [FLAG...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def compile_alone(include: str, command: list[str]) -> str:
    """What the compiler says about `#include <include>`; "" if nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(f"#include <{include}>\n#include <{include}>\n")
        source.flush()
        result = subprocess.run([*command, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", source.name],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.stdout.strip() or ("failed" if result.returncode else "")


def main(words: list[str]) -> int:
    if len(words) < 2:
        print(__doc__)
        return 2
    directory, *command = words
    headers = sorted(str(file.relative_to(directory)) for file in (Path(directory) / "cppless").rglob("*.hpp")
                     if "detail" not in file.relative_to(directory).parts)
    command += [f"-I{directory}"]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda header: compile_alone(header, command), headers))
    for header, result in zip(headers, results):
        print(f"{header}: {result or 'ok'}")
    failed = sum(1 for result in results if result)
    # A header that must fail shows that failures are seen.
    if not headers or not compile_alone("cppless/there_is_no_such_header.hpp", command):
        print("the check itself is broken: it found no header, or accepted one that does not exist")
        return 1
    print(f"test cases: {len(headers)} | {len(headers) - failed} passed | {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

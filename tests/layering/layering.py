# SPDX-License-Identifier: Apache-2.0
"""Fails on an #include in library/ that the rooms do not allow (ARCHITECTURE.md has the same table).

    layering.py LIBRARY_DIRECTORY    checks it
    layering.py --self-test          checks that forbidden arrows are found, and allowed ones are not
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Iterator

# A room may include itself and the rooms after its colon.
ROOMS = {
    "base": set(),
    "wire": {"base"},
    "trace": {"base"},
    "task": {"base", "wire", "trace"},
    "process": {"base", "wire", "trace", "task"},
    "http": {"base"},
    "lambda": {"base", "wire", "task", "http"},
    "graph": {"base", "task"},
    "fiber": {"base", "trace", "task"},
}

# The room each public header belongs to. Public headers that only gather others belong to ALL.
ALL = "all"
PUBLIC = {
    "errors.hpp": "base",
    "bytes.hpp": "base",
    "binary_archive.hpp": "wire",
    "json_binary_archive.hpp": "wire",
    "json_structured_archive.hpp": "wire",
    "serialization.hpp": "wire",
    "config.hpp": "task",
    "dispatch.hpp": "task",
    "function.hpp": "task",
    "future.hpp": "task",
    "coroutine.hpp": "task",
    "graph.hpp": "graph",
    "instance.hpp": "task",
    "map.hpp": "task",
    "channel.hpp": "task",
    "shared.hpp": "task",
    "shared_variable.hpp": "task",
    "statistics.hpp": "task",
    "task.hpp": "task",
    "aws_lambda.hpp": "task",  # declares them; lambda implements them
    "dispatchers.hpp": "task",  # declares them; process implements them
    "detached.hpp": "task",  # likewise
    "fiber.hpp": "fiber",
    "fiber_dispatcher.hpp": "fiber",
    "cppless.hpp": ALL,
}

# What public headers and the internal headers behind them may include besides cppless.
OUTSIDE = re.compile(r"cereal/|boost/pfr(\.hpp|/)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def violations(library: Path) -> Iterator[str]:
    """One sentence per forbidden #include."""
    files = sorted(file for pattern in ("*.hpp", "*.cpp") for file in library.rglob(pattern))
    for file in files:
        room = room_of(library, file)
        if room is None:
            yield f"{file}: belongs to no room: add it to the table in {Path(__file__).name}"
        elif room != "":
            yield from violations_in(library, file, room)


def violations_in(library: Path, file: Path, room: str) -> Iterator[str]:
    text = file.read_text("utf-8")
    for found in INCLUDE.finditer(text):
        quote, name = found.groups()
        place = f"{file}:{text.count(chr(10), 0, found.start()) + 1}"
        target = target_of(library, file, name)
        if target is not None:
            to = room_of(library, target)
            if to is None:
                yield f"{place}: {name} belongs to no room"
            elif to == ALL and room != ALL and not file.name.endswith("_test.cpp"):
                yield f"{place}: {name} is for users; inside, include what is needed of it"
            elif to == "" or (to != ALL and room != ALL and to != room and to not in ROOMS[room]):
                yield f"{place}: room {room} may not include {name} of room {to or 'tests'}"
        elif quote == '"' or name.startswith("cppless/"):
            yield f"{place}: {name} was not found"
        elif is_public(library, file) and not is_standard(name) and not OUTSIDE.match(name):
            yield f"{place}: public headers may include std, cereal, Boost.PFR and cppless, not {name}"


def room_of(library: Path, file: Path) -> str | None:
    """The room of a file; "" for what is in none (the tests' main); None if the table lacks it."""
    path = file.relative_to(library).parts
    if path[:1] == ("src",) and len(path) > 2:
        return path[1] if path[1] in ROOMS else None
    if path[:3] == ("include", "cppless", "detail") and len(path) > 4:
        return path[3] if path[3] in ROOMS else None
    if path[:2] == ("include", "cppless") and len(path) == 3:
        return PUBLIC.get(path[2])
    if path[:2] == ("include", "cppless") and len(path) == 4:  # cppless/fiber/mutex.hpp
        return path[2] if path[2] in ROOMS else None
    return "" if len(path) == 1 else None


def target_of(library: Path, file: Path, name: str) -> Path | None:
    """The file of the library that `name` means, if any."""
    for directory in (file.parent, library / "src", library / "include"):
        target = (directory / name).resolve()
        if target.is_file() and target.is_relative_to(library):
            return target
    return None


def is_public(library: Path, file: Path) -> bool:
    return file.is_relative_to(library / "include")


def is_standard(name: str) -> bool:
    """<vector> and <cstdint>, and the few C headers a header may need for declarations."""
    return re.fullmatch(r"[a-z_]+", name) is not None


class Finds(unittest.TestCase):
    """The harness itself: a small library with one arrow each."""

    def check(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            library = Path(directory).resolve()
            for name, text in files.items():
                (library / name).parent.mkdir(parents=True, exist_ok=True)
                (library / name).write_text(text, "utf-8")
            return list(violations(library))

    def test_an_arrow_against_the_table_is_found(self) -> None:
        found = self.check({"src/task/a.hpp": "", "src/base/b.cpp": '#include "task/a.hpp"\n'})
        self.assertEqual(len(found), 1)
        self.assertIn("base/b.cpp:1: room base may not include task/a.hpp of room task", found[0])

    def test_an_arrow_against_the_table_is_found_between_public_headers(self) -> None:
        found = self.check({"include/cppless/task.hpp": "",
                            "include/cppless/bytes.hpp": "\n#  include <cppless/task.hpp>\n"})
        self.assertEqual(len(found), 1)
        self.assertIn("bytes.hpp:2: room base may not include cppless/task.hpp", found[0])

    def test_an_arrow_against_the_table_is_found_from_internal_headers(self) -> None:
        found = self.check({"include/cppless/detail/process/p.hpp": "",
                            "include/cppless/detail/task/t.hpp":
                                "#include <cppless/detail/process/p.hpp>\n"})
        self.assertEqual(len(found), 1)

    def test_arrows_of_the_table_pass(self) -> None:
        self.assertEqual(self.check({
            "include/cppless/errors.hpp": "#include <string>\n",
            "include/cppless/task.hpp": "#include <cppless/errors.hpp>\n#include <boost/pfr.hpp>\n",
            "include/cppless/cppless.hpp": "#include <cppless/task.hpp>\n",
            "src/base/a.hpp": "#include <sys/mman.h>\n",
            "src/process/p.cpp": '#include "base/a.hpp"\n#include <cppless/task.hpp>\n'}), [])

    def test_public_headers_in_the_folder_of_a_room_belong_to_it(self) -> None:
        self.assertEqual(len(self.check({"include/cppless/fiber/mutex.hpp": "",
                                         "src/base/a.cpp": "#include <cppless/fiber/mutex.hpp>\n"
                                         })), 1)

    def test_a_foreign_library_in_a_public_header_is_found(self) -> None:
        found = self.check({"include/cppless/task.hpp": "#include <boost/asio.hpp>\n"})
        self.assertEqual(len(found), 1)
        self.assertIn("not boost/asio.hpp", found[0])

    def test_a_system_header_in_a_public_header_is_found(self) -> None:
        self.assertEqual(len(self.check({"include/cppless/task.hpp": "#include <sys/mman.h>\n"})), 1)

    def test_the_umbrella_header_inside_the_library_is_found(self) -> None:
        self.assertEqual(len(self.check({"include/cppless/cppless.hpp": "",
                                         "src/task/t.cpp": "#include <cppless/cppless.hpp>\n"})), 1)

    def test_a_file_of_no_room_is_found(self) -> None:
        self.assertEqual(len(self.check({"include/cppless/new.hpp": "", "src/attic/a.cpp": ""})), 2)

    def test_a_missing_header_of_ours_is_found(self) -> None:
        self.assertEqual(len(self.check({"src/base/a.cpp": '#include "base/gone.hpp"\n'})), 1)


def main(words: list[str]) -> int:
    if words == ["--self-test"]:
        return not unittest.main(argv=["layering"], exit=False).result.wasSuccessful()
    if len(words) != 1:
        print(__doc__)
        return 2
    library = Path(words[0]).resolve()
    found = list(violations(library))
    print("\n".join(found) if found else f"{library}: every #include follows the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

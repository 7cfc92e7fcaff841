# SPDX-License-Identifier: Apache-2.0
"""`cppless migrate` as a user calls it. What it does to programs is tested in tests/migrate."""

from __future__ import annotations

from .support import CommandTest

PROGRAM = """#include <future>
int main() { return std::async([] { return 0; }).get(); }
"""
MIGRATED = PROGRAM.replace("<future>\n", "<future>\n#include <cppless/fiber.hpp>\n").replace("std::", "cppless::fiber::")


class Migrate(CommandTest):
    def test_the_difference_is_shown_and_with_write_applied(self) -> None:
        source = self.write("a b.cpp", PROGRAM)
        shown = self.cppless("migrate", "a b.cpp")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertTrue(shown.stdout.startswith("--- a/a b.cpp\n+++ b/a b.cpp\n@@"), shown.stdout)
        self.assertEqual(source.read_text("utf-8"), PROGRAM)
        written = self.cppless("migrate", "--write", "a b.cpp")
        self.assertEqual((written.returncode, written.stdout), (0, ""), written.stderr)
        self.assertEqual(source.read_text("utf-8"), MIGRATED)
        again = self.cppless("migrate", "--write", "a b.cpp")
        self.assertIn("0 changes in 0 files", again.stderr)
        self.assertEqual(source.read_text("utf-8"), MIGRATED)

    def test_flags_after_two_dashes_are_the_compilers(self) -> None:
        self.write("a.cpp", PROGRAM + "static_assert(GIVEN);\n")
        without = self.cppless("migrate", "a.cpp")
        self.assertEqual(without.returncode, 1)
        self.assertIn("cppless migrate: error: a source does not compile", without.stderr)
        self.assertEqual(self.cppless("migrate", "a.cpp", "--", "-std=c++20", "-DGIVEN=1").returncode, 0)

    def test_a_wrong_command_line_is_told_without_building_anything(self) -> None:
        self.environment["XDG_CACHE_HOME"] = str(self.directory)
        none = self.cppless("migrate")
        self.assertEqual((none.returncode, none.stdout), (2, ""))
        self.assertIn("SOURCE.cpp", none.stderr)
        help_ = self.cppless("migrate", "--help")
        self.assertEqual(help_.returncode, 0)
        self.assertIn("Left alone, with a note", help_.stdout)
        self.assertFalse((self.directory / "cppless" / "migrate").exists())

    def test_a_file_that_is_not_there_is_named(self) -> None:
        missing = self.cppless("migrate", "nowhere.cpp")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("there is no file nowhere.cpp", missing.stderr)

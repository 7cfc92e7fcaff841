# SPDX-License-Identifier: Apache-2.0
"""The command line: flags, files, errors and exit codes. Each function gets a Context of migrate.py."""

import json

PROGRAM = """#include <future>
int main() { return std::async([] { return 0; }).get(); }
"""
MIGRATED = """#include <future>
#include <cppless/fiber.hpp>
int main() { return cppless::fiber::async([] { return 0; }).get(); }
"""


def test_a_wrong_command_line_is_refused_with_a_reason(context):
    context.write("a.cpp", PROGRAM)
    for words, reason in (([], "name at least one source"), (["--rewrite", "a.cpp"], "unknown option --rewrite"),
                          (["a.cpp", "-p"], "-p needs a directory"), (["b.cpp"], "there is no file b.cpp"),
                          (["-p", ".", "a.cpp", "--", "-O2"], "either -p or flags"),
                          (["-p", "nowhere", "a.cpp"], "no compile_commands.json in nowhere")):
        result = context.migrate(*words, expect=2)
        assert result.stderr.startswith("cppless migrate: error: ") and reason in result.stderr, result.stderr
        assert result.stdout == ""


def test_a_source_that_does_not_compile_changes_nothing(context):
    context.write("a.cpp", PROGRAM)
    context.write("b.cpp", "int main() { return missing; }\n")
    result = context.migrate("--write", "a.cpp", "b.cpp", expect=1)
    assert "b.cpp:1:21: error: use of undeclared identifier 'missing'" in result.stderr
    assert "nothing was changed" in result.stderr
    assert context.read("a.cpp") == PROGRAM


def test_flags_after_two_dashes_reach_the_compiler(context):
    context.write("a.cpp", PROGRAM + "#ifndef GIVEN\n#error not given\n#endif\n")
    context.migrate("a.cpp", expect=1)
    context.migrate("--write", "a.cpp", "--", "-std=c++20", "-DGIVEN")
    assert context.read("a.cpp").startswith(MIGRATED)


def test_a_compilation_database_is_found_above_the_source_or_named(context):
    context.write("source/a.cpp", PROGRAM + '#include "given.hpp"\n')
    context.write("elsewhere/given.hpp", "")
    command = {"directory": str(context.directory), "file": "source/a.cpp",
               "command": "g++ -std=c++20 -Ielsewhere -fno-semantic-interposition -o a.o -c source/a.cpp"}
    context.write("build/compile_commands.json", json.dumps([command]))
    context.migrate("source/a.cpp", expect=1)
    assert "+int main() { return cppless::fiber::async" in context.migrate("-p", "build", "source/a.cpp").stdout
    context.write("compile_commands.json", json.dumps([command]))
    context.migrate("--write", "source/a.cpp")
    assert context.read("source/a.cpp").startswith(MIGRATED)


def test_a_file_that_cannot_be_written_leaves_all_as_they_were(context):
    context.write("a.cpp", PROGRAM)
    context.write("b.cpp", PROGRAM.replace("main", "other"))
    (context.directory / "b.cpp.migrating").mkdir()
    result = context.migrate("--write", "a.cpp", "b.cpp", expect=1)
    assert "cannot write b.cpp" in result.stderr
    assert context.read("a.cpp") == PROGRAM
    assert not (context.directory / "a.cpp.migrating").exists()


def test_permissions_and_line_ends_stay(context):
    source = context.write("a.cpp", PROGRAM.replace("\n", "\r\n"))
    source.chmod(0o640)
    difference = context.migrate("a.cpp").stdout
    assert "+#include <cppless/fiber.hpp>\r\n" in difference or "+#include <cppless/fiber.hpp>" in difference
    context.migrate("--write", "a.cpp")
    assert context.read("a.cpp") == MIGRATED.replace("\n", "\r\n")
    assert source.stat().st_mode & 0o777 == 0o640


def test_a_last_line_without_end_stays_without(context):
    context.write("a.cpp", PROGRAM.rstrip("\n"))
    difference = context.migrate("a.cpp").stdout
    assert difference.count("\\ No newline at end of file") == 2
    context.migrate("--write", "a.cpp")
    assert context.read("a.cpp") == MIGRATED.rstrip("\n")
    context.write("a.cpp", PROGRAM.rstrip("\n"))
    context.run("patch", "-p1", text_in=difference)
    assert context.read("a.cpp") == MIGRATED.rstrip("\n")


def test_headers_of_others_are_not_changed_nor_what_depends_on_them(context):
    context.write("theirs/their.hpp", "#pragma once\n#include <future>\n"
                  "inline std::future<int> their() { return std::async([] { return 0; }); }\n")
    context.write("ours/a.cpp", '#include "their.hpp"\nint main() { std::future<int> f = their(); return f.get(); }\n')
    before = context.read("theirs/their.hpp")
    inside = context.directory / "ours"
    result = context.run("sh", "-c", f'cd "{inside}" && "{context.tool}" --write a.cpp -- -std=c++20 -I../theirs')
    assert "their is declared in a file that is not yours" in result.stderr, result.stderr
    assert context.read("theirs/their.hpp") == before
    assert "cppless" not in context.read("ours/a.cpp")
    context.migrate("--write", "ours/a.cpp", "--", "-std=c++20", "-isystem", "theirs")
    assert context.read("theirs/their.hpp") == before
    context.migrate("--write", "ours/a.cpp", "--", "-std=c++20", "-Itheirs")
    assert "cppless::fiber::future<int> their() { return cppless::fiber::async" in context.read("theirs/their.hpp")


def test_a_changed_header_is_told(context):
    context.write("a.hpp", "#pragma once\n#include <future>\ninline std::future<int> f() { return std::async([] { return 0; }); }\n")
    context.write("a.cpp", '#include "a.hpp"\n')
    assert "headers change too" in context.migrate("a.cpp").stderr
    assert "headers change too" not in context.migrate("a.cpp", "a.hpp").stderr


def test_a_source_without_includes_gets_one_after_its_header_comment(context):
    context.write("all.hpp", "#include <future>\n")
    context.write("a.cpp", "// Says what it is.\n\nint main() { return std::async([] { return 0; }).get(); }\n")
    context.migrate("--write", "a.cpp", "--", "-std=c++20", "-include", "all.hpp")
    lines = context.read("a.cpp").splitlines()
    assert lines[0] == "// Says what it is." and "#include <cppless/fiber.hpp>" in lines[1:3], lines


def test_a_file_reached_by_two_names_is_changed_once(context):
    context.write("real/a.hpp", "#pragma once\n#include <future>\nstd::promise<int> inline promise;\n")
    (context.directory / "link").symlink_to("real")
    context.write("a.cpp", '#include "real/a.hpp"\n')
    context.write("b.cpp", '#include "link/a.hpp"\n')
    context.migrate("--write", "a.cpp", "b.cpp")
    assert context.read("real/a.hpp").count("cppless::fiber::promise") == 1
    assert context.read("real/a.hpp").count("#include <cppless") == 1

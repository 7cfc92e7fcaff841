# SPDX-License-Identifier: Apache-2.0
"""cppless++ and what crosses files: libraries, precompiled headers, manifests."""

import json
import signal
import subprocess
import time

DECLARE = 'extern "C" int puts(const char*);\n'
ENTRY = DECLARE + '__attribute__((entry, metadata("{meta}"))) static int {name}(int, char**) {{ puts("{name}"); }}\n'
MAIN = DECLARE + 'int main() { puts("main"); return 5; }\n'


def manifest(context, name="a.out.json"):
    return json.loads((context.directory / name).read_text(encoding="utf-8"))["entry_points"]


def files(context):
    return sorted(path.name for path in context.directory.iterdir())


def test_an_output_name_gives_the_names_of_the_executables(context):
    context.write("p.cpp", ENTRY.format(name="one", meta="m1") + ENTRY.format(name="two", meta="") + MAIN)
    context.cppless("p.cpp", "-o", "prog.exe")
    assert files(context) == ["p.cpp", "prog.exe", "prog.exe.json", "prog_alt_0.exe", "prog_alt_1.exe"]
    points = manifest(context, "prog.exe.json")
    assert [p["filename"] for p in points] == ["prog_alt_0.exe", "prog_alt_1.exe"]
    assert [p["original_function_name"] for p in points] == ["_ZL3oneiPPc", "_ZL3twoiPPc"]
    assert [p["user_meta"] for p in points] == ["m1", ""]
    assert context.run("./prog.exe", expect=5).stdout == "main\n"
    assert context.run("./prog_alt_0.exe").stdout == "one\n"
    assert context.run("./prog_alt_1.exe").stdout == "two\n"


def test_entries_of_objects_and_static_libraries_are_merged(context):
    # The same internal name in two objects: two entries. An entry of a template instantiated in
    # both: one. A member of the library that nothing needs is not linked, nor its entry.
    context.write("t.hpp", DECLARE + "template <class T> struct task {\n"
                  '  __attribute__((entry, metadata("task"))) static int main(int, char**) { puts("task"); }\n};\n')
    context.write("a.cpp", '#include "t.hpp"\n' + ENTRY.format(name="same", meta="a") + "task<int> t; int lib();\nint main() { return lib(); }\n")
    context.write("b.cpp", '#include "t.hpp"\n' + ENTRY.format(name="same", meta="b") + "int lib() { return sizeof(task<int>) - 1; }\n")
    context.write("c.cpp", ENTRY.format(name="unneeded", meta="c"))
    context.cppless("-c", "a.cpp", "b.cpp", "c.cpp")
    assert not (context.directory / "a.out").exists()
    context.run("ar", "rcs", "libx.a", "b.o", "c.o")
    context.cppless("a.o", "-L.", "-lx")
    assert sorted(p["user_meta"] for p in manifest(context)) == ["a", "b", "task"]
    for linker in ("-fuse-ld=lld", "-no-pie", "-static"):
        context.cppless("a.o", "libx.a", linker)
        assert sorted(p["user_meta"] for p in manifest(context)) == ["a", "b", "task"]
        for point in manifest(context):
            printed = context.run("./" + point["filename"]).stdout
            assert printed == ("task\n" if point["user_meta"] == "task" else "same\n"), printed


def test_link_time_optimisation_and_section_garbage_collection_keep_entries(context):
    context.write("p.cpp", ENTRY.format(name="one", meta="m1") + MAIN)
    context.cppless("-flto=thin", "-O2", "-fuse-ld=lld", "-ffunction-sections", "-Wl,--gc-sections", "-s", "p.cpp")
    assert context.run("./a_alt_0.out").stdout == "one\n"
    assert context.run("./a.out", expect=5).stdout == "main\n"


def test_a_program_that_wraps_main_keeps_its_wrapper_in_entries(context):
    # What a program that links the library does.
    context.write("p.cpp", ENTRY.format(name="one", meta="m1") + MAIN)
    context.write("wrap.c", "int puts(const char*); int __real_main(int, char**);\n"
                  'int __wrap_main(int c, char** v) { puts("wrapper"); return __real_main(c, v); }\n')
    context.run(context.clang, "-x", "c", "-c", "wrap.c")
    context.run("ar", "rcs", "libwrap.a", "wrap.o")
    context.cppless("p.cpp", "-Wl,--wrap=main", "-L.", "-lwrap")
    assert context.run("./a.out", expect=5).stdout == "wrapper\nmain\n"
    assert context.run("./a_alt_0.out").stdout == "wrapper\none\n"


def test_entries_in_a_precompiled_header_are_entries_of_each_program(context):
    context.write("h.hpp", '#include <cstdio>\ntemplate <class F> struct bridge {\n'
                  '  __attribute__((entry, metadata("bridge"))) static int main(int, char**) { F{}(); }\n};\n'
                  'inline auto shared = [a = 1](int x) { return a + x; };\n' + ENTRY.format(name="in_header", meta="h"))
    context.write("p.cpp", 'template <class F> void use(F) { bridge<F> b; (void)b; }\n'
                  'int main() { use([] { std::puts("lambda"); }); shared.capture<0>() = 4; return shared(1) - 5; }\n')
    context.compile("-x", "c++-header", "h.hpp", "-o", "h.pch")
    context.cppless("-include-pch", "h.pch", "p.cpp")
    assert [p["user_meta"] for p in manifest(context)] == ["h", "bridge"], manifest(context)
    assert context.run("./a_alt_1.out").stdout == "lambda\n"
    context.run("./a.out")


NAMES = '''
#include <cstdio>
template <class T> struct [[clang::annotate("cppless::stable_name")]] stable_name_of {};
template <class T> void print(T) { std::puts(stable_name_of<T>::value()); }
inline auto at_namespace_scope = [](int) { return [] {}; };
using in_alias = decltype([] {});
template <class T> auto in_template(T) { return [] { return [] {}; }; }
struct { int x; } unnamed;
static auto internal() { return [] {}; }
inline void print_all() {
  print(at_namespace_scope); print(at_namespace_scope(1)); print(in_alias()); print(in_template(1)());
  print(unnamed); print(internal()); print([] {});
}
'''


def test_names_do_not_depend_on_precompiled_headers(context):
    context.write("h.hpp", "#pragma once\n" + NAMES)
    context.write("p.cpp", '#include "h.hpp"\nint main() { print([] {}); print_all(); print(in_template(2)); }\n')
    context.compile("p.cpp", "-o", "plain")
    context.compile("-x", "c++-header", "h.hpp", "-o", "h.pch")
    context.compile("-include-pch", "h.pch", "p.cpp", "-o", "with_pch")
    plain = context.run("./plain").stdout
    assert plain == context.run("./with_pch").stdout, plain + context.run("./with_pch").stdout
    assert "h.hpp@at_namespace_scope::lambda#1(int)::lambda#1()\n" in plain, plain
    assert "p.cpp@h.hpp@internal()::lambda#1()\n" in plain, plain


def test_names_do_not_depend_on_place_or_lines(context):
    (context.directory / "far/away").mkdir(parents=True)
    (context.directory / "build").mkdir()
    body = "int main() { auto first = [] {}; auto second = [](int) {}; print(second); print(first); print_all(); }\n"
    context.write("p.cpp", NAMES + body)
    context.write("far/away/p.cpp", NAMES + "\n\n// moved\ninline auto other = [] {};\n" + body)
    context.compile("p.cpp", "-o", "here")
    root = context.directory / "far/away"
    context.compile("-fplugin-arg-cppless-source-root=" + str(root), root / "p.cpp", "-o", "there", "-O2", "-g")
    here = context.run("./here").stdout
    assert here == context.run("./there").stdout, here + context.run("./there").stdout
    assert here.startswith("p.cpp@main()::lambda#2(int)\np.cpp@main()::lambda#1()\n"), here
    # Preprocessed first, as compiler caches and distributors do.
    context.compile("-E", "p.cpp", "-o", "p.ii")
    context.compile("p.ii", "-o", "preprocessed")
    assert here == context.run("./preprocessed").stdout


def test_names_are_relative_to_the_working_directory_unless_told_otherwise(context):
    (context.directory / "sub").mkdir()
    context.write("sub/p.cpp", NAMES + "int main() { print([] {}); }\n")
    context.compile(context.directory / "sub/p.cpp", "-o", "p")
    assert context.run("./p").stdout == "sub/p.cpp@main()::lambda#1()\n"
    context.compile("-fplugin-arg-cppless-source-root=sub", "sub/p.cpp", "-o", "p")
    assert context.run("./p").stdout == "p.cpp@main()::lambda#1()\n"


def test_exit_codes_and_messages_pass_through(context):
    context.write("bad.cpp", "int main() { return missing; }\n")
    result = context.cppless("bad.cpp", expect=1)
    assert "use of undeclared identifier 'missing'" in result.stderr
    context.write("unresolved.cpp", "int missing(); int main() { return missing(); }\n")
    context.cppless("unresolved.cpp", expect=1)
    assert files(context) == ["bad.cpp", "unresolved.cpp"]
    assert "clang version" in context.cppless("--version").stdout
    result = context.cppless("-c", "x.cpp", expect=1, env={"CPPLESS_PLUGIN": "/nowhere/plugin.so"})
    assert "CPPLESS_PLUGIN names '/nowhere/plugin.so', which does not exist" in result.stderr


def test_executables_of_vanished_entries_are_removed(context):
    context.write("p.cpp", ENTRY.format(name="one", meta="") + ENTRY.format(name="two", meta="") + MAIN)
    context.cppless("p.cpp")
    context.write("p.cpp", ENTRY.format(name="one", meta="") + MAIN)
    context.cppless("p.cpp")
    assert files(context) == ["a.out", "a.out.json", "a_alt_0.out", "p.cpp"]
    context.write("p.cpp", MAIN)
    context.cppless("p.cpp")
    assert files(context) == ["a.out", "p.cpp"]


def test_metadata_that_is_not_text_is_base64(context):
    context.write("p.cpp", 'struct blob { unsigned char bytes[4]; };\nconstexpr blob b{{0xff, 0xfe, 1, 2}};\n'
                  "__attribute__((entry, meta(b))) int one(int, char**) {}\n" + MAIN)
    context.cppless("p.cpp")
    assert manifest(context)[0]["user_meta"] == {"base64": "//4BAg=="}


def test_an_interrupted_link_leaves_nothing(context):
    source = "".join(ENTRY.format(name=f"entry_{i}", meta="") for i in range(40))
    context.write("p.cpp", source + MAIN)
    (context.directory / "tmp").mkdir()
    context.cppless("-c", "p.cpp")
    import os
    environment = dict(os.environ, CPPLESS_PLUGIN=context.plugin, CPPLESS_CLANG=context.clang,
                       TMPDIR=str(context.directory / "tmp"))
    process = subprocess.Popen([context.driver, "p.o", "-o", "prog"], cwd=context.directory, env=environment,
                               start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (context.directory / "prog_alt_1").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) != 0
    deadline = time.monotonic() + 10  # clang does not wait for its linker when it is interrupted
    while (list((context.directory / "tmp").iterdir()) or
           [f for f in files(context) if "_alt_" in f]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list((context.directory / "tmp").iterdir())
    assert [f for f in files(context) if "_alt_" in f or f.endswith(".json")] == [], files(context)


def test_a_clang_of_another_version_is_refused_by_name(context):
    other = "clang++-16" if context.version != 16 else "clang++-19"
    import shutil
    if shutil.which(other) is None:
        return
    context.write("p.cpp", MAIN)
    result = context.run(other, "-fplugin=" + context.plugin, "-c", "p.cpp", expect=1)
    assert f"was built for clang {context.version}." in result.stderr, result.stderr
    assert f"cannot be loaded into clang {other[-2:]}." in result.stderr, result.stderr
    assert "undefined symbol" not in result.stderr

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cppless costs at compile time.

  entries/N   a source with N different tasks, beside the same source calling its lambdas, and
              beside the papers' way
  plugin      a source without tasks, with and without the plugin
  header      the umbrella header, beside an empty source

Times are CPU time of the compiler (user and system): a compilation is one thread, and CPU time is
far less disturbed by what else the machine does than the time on the wall.

The papers' way is computed from measured parts. Their compiler clones the module for each entry
before the back end and generates code for the whole clone, and does it all once for the host and
once for the target: 2 * (front end + (1 + N) * back end). The front end is `-emit-llvm` without
passes, the back end the optimisation and code generation of that file. Its size is that of the
1 + N executables which it links for the host.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import harness  # noqa: E402
import sources  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cpu_ms(command):
    """CPU milliseconds of a command; raises with its output if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


class Compiler:
    def __init__(self, options, folder):
        self.build = pathlib.Path(options.build)
        self.folder = folder
        self.base = [options.compiler, "-std=c++20", f"-I{ROOT}/library/include"]
        self.plugin = f"-fplugin={options.plugin}"
        self.sources = {}

    def source(self, name, text):
        path = self.folder / f"{name}.cpp"
        path.write_text(text, encoding="utf-8")
        return path

    def object_ms(self, source, *flags, plugin=True):
        extra = [self.plugin] if plugin else []
        return cpu_ms([*self.base, *extra, *flags, "-c", source, "-o", source.with_suffix(".o")])

    def link(self, source):
        """Stripped executable of the source's object."""
        program = source.with_suffix("")
        libraries = [next(self.build.rglob(f"libcppless{part}.a")) for part in ("_main", "")]
        subprocess.run([*self.base[:1], source.with_suffix(".o"), "-o", program, "-s",
                        "-Wl,--wrap=main", *libraries, "-pthread"], check=True)
        return program


def printed(program):
    return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=60).stdout


def measure_entries(suite, compiler, counts):
    medians = {}
    for count in counts:
        case = f"entries/{count}"
        if not suite.wants(case):
            continue
        direct = compiler.source(f"direct_{count}", sources.entries(count, False))
        tasks = compiler.source(f"tasks_{count}", sources.entries(count, True))
        bitcode = tasks.with_suffix(".bc")

        def papers(count=count, tasks=tasks, bitcode=bitcode):
            front = cpu_ms([*compiler.base, compiler.plugin, "-O2", "-Xclang",
                            "-disable-llvm-passes", "-emit-llvm", "-c", tasks, "-o", bitcode])
            back = cpu_ms([*compiler.base[:1], "-O2", "-c", bitcode, "-o",
                           bitcode.with_suffix(".bc.o")])
            return 2 * (front + (1 + count) * back)

        medians[count] = suite.compare(case, "ms CPU", "lambdas called", [
            ("lambdas called", lambda: compiler.object_ms(direct, "-O2")),
            ("cppless", lambda: compiler.object_ms(tasks, "-O2")),
            ("papers' way", papers)])
        measure_size(suite, compiler, case, count, direct, tasks)
    add_slopes(suite, medians)


def measure_size(suite, compiler, case, count, direct, tasks):
    try:
        programs = {"lambdas called": compiler.link(direct), "cppless": compiler.link(tasks)}
        answers = {name: printed(program) for name, program in programs.items()}
        if len(set(answers.values())) != 1:
            raise RuntimeError(f"the programs print different answers: {answers}")
    except Exception as error:
        print(f"compile/{case}: {error}", file=sys.stderr)
        suite.wrong_answers += 1
        return
    size = {name: program.stat().st_size for name, program in programs.items()}
    size["papers' way"] = (1 + count) * size["cppless"]
    for name, value in size.items():
        suite.record(f"{case}, executables", name, "bytes", [value])


def add_slopes(suite, medians):
    """What each further task adds over calling its lambda, from the fewest to the most."""
    if len(medians) < 2:
        return
    few, many = min(medians), max(medians)
    for name in ("cppless", "papers' way"):
        if name in medians[few] and name in medians[many]:
            def added(count):
                return [task - call for task, call in
                        zip(medians[count][name], medians[count]["lambdas called"])]
            slopes = [(big - small) / (many - few)
                      for big, small in zip(added(many), added(few))]
            suite.record(f"each further entry, {few} to {many}", name, "ms CPU", slopes)


def measure_plugin(suite, compiler):
    for flag in ("-fsyntax-only", "-O0", "-O2"):
        if not suite.wants(f"plugin/{flag}"):
            continue
        source = compiler.source("stl_heavy", sources.stl_heavy())
        suite.compare(f"plugin/{flag}", "ms CPU", "without plugin", [
            ("without plugin", lambda: compiler.object_ms(source, flag, plugin=False)),
            ("with plugin", lambda: compiler.object_ms(source, flag))])


def measure_header(suite, compiler):
    if not suite.wants("header"):
        return
    usual = "".join(f"#include <{name}>\n" for name in
                    ("algorithm", "functional", "future", "map", "memory", "string", "vector"))
    texts = {"empty": "", "seven usual std headers": usual,
             "cppless/cppless.hpp": "#include <cppless/cppless.hpp>\n"}
    rows = []
    for name, text in texts.items():
        source = compiler.source("header_" + str(len(rows)), text + "int main() {}\n")
        rows.append((name, lambda source=source: compiler.object_ms(source, "-O2", plugin=False)))
    rows.append(("cppless/cppless.hpp, with plugin", lambda: compiler.object_ms(source, "-O2")))
    suite.compare("header", "ms CPU", "empty", rows)


def plugin_of(build):
    """The plugin that the build made, or was told to use."""
    cache = build / "CMakeCache.txt"
    told = re.search(r"^CPPLESS_PLUGIN_FILE:\w+=(.+)$", cache.read_text("utf-8"), re.M) \
        if cache.exists() else None
    return told[1] if told else next(build.rglob("cppless-plugin.so"), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/bench",
                        help="build directory that holds the library and the plugin")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "clang++-19"))
    parser.add_argument("--plugin", help="default: cppless-plugin.so below the build directory")
    parser.add_argument("--counts", default="1,10,100", help="numbers of entries")
    suite = harness.Suite("compile", parser)
    options = suite.options
    if not options.plugin and not options.list:
        options.plugin = plugin_of(pathlib.Path(options.build))
        if options.plugin is None:
            parser.error(f"no cppless-plugin.so below {options.build}: give --plugin or --build")
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options, pathlib.Path(folder))
        measure_entries(suite, compiler, [int(count) for count in options.counts.split(",")])
        measure_plugin(suite, compiler)
        measure_header(suite, compiler)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The whole command with the real compiler, plugin and library."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

from .support import COMMAND, CommandTest

PRINTS_ARGUMENTS = """
#include <iostream>
#include <string>
int main(int argc, char** argv) {
  std::string line;
  std::getline(std::cin, line);
  for (int i = 1; i < argc; ++i) std::cout << argv[i] << '|';
  std::cout << line << std::endl;
  return 7;
}
"""

WAITS = """
#include <cstdio>
#include <unistd.h>
#include "text.hpp"
int main() {
  std::puts(text);
  std::fflush(stdout);
  for (;;) pause();
}
"""

PRINTS = """
#include <cstdio>
#include "text.hpp"
int main() { std::puts(text); }
"""

TASKS = """
#include <cppless/cppless.hpp>
#include <cstdio>
int main() {
  cppless::instance instance = cppless::default_dispatcher{}.create_instance();
  int base = 40;
  auto sum = cppless::async(instance, [base](int x) { return base + x; }, 2);
  std::printf("%d\\n", sum.get());
}
"""


class Run(CommandTest):
    def test_arguments_input_and_exit_status_pass_through(self) -> None:
        self.write("a.cpp", PRINTS_ARGUMENTS)
        result = self.cppless("run", "a.cpp", "--", "--workers", "x y", text_in="line\n")
        self.assertEqual((result.stdout, result.returncode), ("--workers|x y|line\n", 7), result.stderr)

    def test_a_capturing_lambda_runs_in_a_worker_and_is_summarised(self) -> None:
        self.write("tasks.cpp", TASKS)
        result = self.cppless("run", "tasks.cpp", "--workers", "2")
        self.assertEqual((result.stdout, result.returncode), ("42\n", 0), result.stderr)
        self.assertRegex(result.stderr, r"cppless: 1 task on 2 workers in .*, 0 retries\n$")

    def test_the_inline_dispatcher_can_be_chosen(self) -> None:
        self.write("tasks.cpp", TASKS)
        result = self.cppless("run", "tasks.cpp", "--dispatcher", "inline")
        self.assertEqual((result.stdout, result.returncode), ("42\n", 0), result.stderr)
        self.assertRegex(result.stderr, r"cppless: 1 task ")

    def test_the_fiber_dispatcher_can_be_chosen(self) -> None:
        self.write("tasks.cpp", TASKS)
        result = self.cppless("run", "tasks.cpp", "--dispatcher", "fiber")
        self.assertEqual((result.stdout, result.returncode), ("42\n", 0), result.stderr)
        self.assertRegex(result.stderr, r"cppless: 1 task ")

    def test_a_second_run_compiles_nothing(self) -> None:
        self.write("text.hpp", 'inline const char* text = "one";')
        self.write("a.cpp", PRINTS)
        self.assertIn("compiling", self.cppless("run", "a.cpp").stderr)
        again = self.cppless("run", "a.cpp")
        self.assertEqual(again.stdout, "one\n")
        self.assertNotIn("compiling", again.stderr)

    def test_a_changed_header_compiles_again_and_a_touched_one_does_not(self) -> None:
        header = self.write("text.hpp", 'inline const char* text = "one";')
        self.write("a.cpp", PRINTS)
        self.cppless("run", "a.cpp")
        os.utime(header, ns=(1, 1))
        self.assertNotIn("compiling", self.cppless("run", "a.cpp").stderr)
        self.write("text.hpp", 'inline const char* text = "two";')
        self.assertEqual(self.cppless("run", "a.cpp").stdout, "two\n")
        self.write("text.hpp", 'inline const char* text = "one";')
        back = self.cppless("run", "a.cpp")
        self.assertEqual(back.stdout, "one\n")
        self.assertNotIn("compiling", back.stderr)

    def test_flags_from_the_environment_count(self) -> None:
        self.write("a.cpp", "int main() { return STATUS; }")
        for status in (3, 4):
            self.environment["CXXFLAGS"] = f"-DSTATUS={status}"
            self.assertEqual(self.cppless("run", "a.cpp").returncode, status)

    def test_compile_errors_pass_through(self) -> None:
        self.write("a.cpp", "int main() {\n  return oops;\n}\n")
        result = self.cppless("run", "a.cpp")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("a.cpp:2:10: error: use of undeclared identifier 'oops'", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_warnings_are_shown(self) -> None:
        self.write("a.cpp", "#warning look here\nint main() {}\n")
        result = self.cppless("run", "a.cpp")
        self.assertEqual(result.returncode, 0)
        self.assertIn("look here", result.stderr)

    def test_several_at_once_compile_once(self) -> None:
        self.write("text.hpp", f'inline const char* text = "{self.directory}";')
        self.write("a.cpp", PRINTS)
        runs = [subprocess.Popen([str(COMMAND), "run", "a.cpp"], cwd=self.directory, env=self.environment,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(4)]
        results = [run.communicate() for run in runs]
        self.assertEqual([out for out, _ in results], [f"{self.directory}\n"] * 4)
        self.assertEqual(sum("compiling" in err for _, err in results), 1)

    def test_quiet_says_nothing(self) -> None:
        self.write("a.cpp", "int main() {}")
        self.assertEqual(self.cppless("run", "a.cpp", "-q").stderr, "")

    def test_verbose_shows_the_compiler_command(self) -> None:
        self.write("a.cpp", f"// {self.directory}\nint main() {{}}")
        self.assertRegex(self.cppless("run", "--verbose", "a.cpp").stderr, r"\+ clang\+\+-19 .*-fplugin=")

    def test_a_missing_file_is_one_clear_line(self) -> None:
        result = self.cppless("run", "gone.cpp")
        self.assertEqual((result.returncode, result.stderr), (1, "cppless: error: no such file: gone.cpp\n"))


class Signals(CommandTest):
    def wait_for_program(self) -> subprocess.Popen[str]:
        self.write("text.hpp", 'inline const char* text = "up";')
        self.write("a.cpp", WAITS)
        process = self.start("run", "a.cpp")
        self.eventually(lambda: self.out() == "up\n")
        return process

    def test_an_interrupt_reaches_the_program_and_becomes_the_status(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.wait_for_program()
            (child,) = self.children(process.pid)
            process.send_signal(number)
            self.assertEqual(process.wait(20), 128 + number)
            self.assertFalse(Path(f"/proc/{child}").exists())
            self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_terminal_interrupt_arrives_once(self) -> None:
        self.write("a.cpp", """
#include <csignal>
#include <cstdio>
#include <unistd.h>
volatile sig_atomic_t interrupts = 0;
int main() {
  std::signal(SIGINT, [](int) { interrupts = interrupts + 1; });
  std::puts("up");
  std::fflush(stdout);
  while (!interrupts) pause();
  usleep(300000);
  std::printf("%d\\n", static_cast<int>(interrupts));
}
""")
        self.cppless("build", "a.cpp")  # so that the run starts at once
        primary, secondary = os.openpty()
        with open(self.directory / "out", "w") as out, open(self.directory / "err", "w") as err:
            process = subprocess.Popen(["setsid", "--ctty", "--wait", str(COMMAND), "run", "a.cpp"],
                                       cwd=self.directory, env=self.environment, stdin=secondary,
                                       stdout=out, stderr=err)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.eventually(lambda: self.out() == "up\n")
        os.write(primary, b"\x03")
        self.assertEqual(process.wait(20), 130)
        self.assertEqual(self.out(), "up\n1\n")
        os.close(primary)
        os.close(secondary)

    def test_a_program_that_is_killed_gives_128_plus_signal(self) -> None:
        self.write("a.cpp", "#include <csignal>\nint main() { std::raise(SIGKILL); }")
        result = self.cppless("run", "a.cpp")
        self.assertEqual(result.returncode, 137)
        self.assertIn("a.cpp was ended by SIGKILL", result.stderr)

    def test_an_interrupt_while_compiling_ends_the_compiler(self) -> None:
        self.write("a.cpp", f"""// {self.directory}
template <int N> struct slow {{ static constexpr int value = slow<N - 1>::value + 1; }};
template <> struct slow<0> {{ static constexpr int value = 0; }};
constexpr long spin() {{ long n = 0; while (n < 2000000000) ++n; return n; }}
static_assert(spin() > 0);
int main() {{}}
""")
        self.environment["CXXFLAGS"] = "-fconstexpr-steps=2147483647"
        process = self.start("run", "a.cpp")
        self.eventually(lambda: "compiling" in self.err())
        self.eventually(lambda: len(self.children(process.pid)) > 0)
        (driver,) = self.children(process.pid)
        time.sleep(0.3)  # the driver may do its work in a process of its own
        compilers = [driver, *self.children(driver)]
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 143)
        for compiler in compilers:
            self.eventually(lambda: not Path(f"/proc/{compiler}").exists())

    @staticmethod
    def children(pid: int) -> list[int]:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        return [int(word) for word in text.split()]


class Watch(CommandTest):
    def test_changes_compile_and_run_again_and_errors_wait_for_the_next(self) -> None:
        self.write("text.hpp", 'inline const char* text = "one";')
        self.write("a.cpp", WAITS)
        process = self.start("run", "a.cpp", "--watch")
        self.eventually(lambda: self.out() == "one\n")
        self.write("text.hpp", 'inline const char* text = "two";')  # while the program runs
        self.eventually(lambda: self.out() == "one\ntwo\n")
        self.write("text.hpp", "inline const char* text = oops;")
        self.eventually(lambda: "undeclared identifier 'oops'" in self.err())
        self.write("text.hpp", 'inline const char* text = "three";')
        self.eventually(lambda: self.out() == "one\ntwo\nthree\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        self.assertEqual(list(self.temporary.iterdir()), [])


class Build(CommandTest):
    def test_the_executable_runs_by_itself(self) -> None:
        self.write("tasks.cpp", TASKS)
        result = self.cppless("build", "tasks.cpp", "-o", "out here")
        self.assertEqual(result.returncode, 0, result.stderr)
        ran = subprocess.run([self.directory / "out here"], stdout=subprocess.PIPE, text=True)
        self.assertEqual((ran.stdout, ran.returncode), ("42\n", 0))

    def test_the_default_name_is_that_of_the_source(self) -> None:
        self.write("a.cpp", "int main() { return 9; }")
        self.cppless("build", "a.cpp")
        self.assertEqual(subprocess.run([self.directory / "a"]).returncode, 9)

    def test_the_source_is_never_overwritten(self) -> None:
        self.write("a.cpp", "int main() {}")
        self.assertEqual(self.cppless("build", "a.cpp", "-o", "a.cpp").returncode, 2)
        self.assertEqual((self.directory / "a.cpp").read_text("utf-8"), "int main() {}")


class Usage(CommandTest):
    def test_unknown_options_end_with_2_and_one_line(self) -> None:
        for words in (["run", "a.cpp", "--fast"], ["--fast"], ["fly"], [], ["run"], ["doctor", "--", "x"],
                      ["run", "a.cpp", "--workers", "none"], ["run", "a.cpp", "--dispatcher", "cloud"]):
            result = self.cppless(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, r"^cppless: error: [^\n]*\n$")

    def test_help_is_everywhere(self) -> None:
        for words in (["--help"], ["run", "--help"], ["build", "-h"], ["doctor", "--help"]):
            result = self.cppless(*words)
            self.assertEqual(result.returncode, 0)
            self.assertTrue(result.stdout.startswith("usage: cppless"))

    def test_the_version_is_told(self) -> None:
        self.assertRegex(self.cppless("--version").stdout, r"^cppless \d+\.\d+\.\d+\n$")


class Doctor(CommandTest):
    def test_a_healthy_machine_ends_with_0(self) -> None:
        result = self.cppless("doctor")
        self.assertEqual(result.returncode, 0, result.stdout)
        for word in ("clang++-19", "cereal", "boost", "memfd", "pidfd", "futex", "cores", "everything"):
            self.assertIn(word, result.stdout)

    def test_a_missing_compiler_ends_with_1_and_the_mend(self) -> None:
        bare = self.directory / "bin"
        bare.mkdir()
        for tool in ("sh", "python3", "readlink", "dirname", "awk", "cut", "grep", "id", "cat", "tr", "uniq"):
            found = next(Path(place) / tool for place in ("/bin", "/usr/bin") if (Path(place) / tool).exists())
            (bare / tool).symlink_to(found)
        self.environment["PATH"] = str(bare)
        result = self.cppless("doctor")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"no  clang-19 .*missing: compiles your program\n +mend: .*apt-get")


if __name__ == "__main__":
    unittest.main()

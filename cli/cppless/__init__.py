# SPDX-License-Identifier: Apache-2.0
"""The `cppless` command. `run`, `build` and `doctor` need nothing beyond the standard library.

main       command line -> one of the commands below
run        compile (or take from the cache), run, summarise
build      one C++ file -> one executable, cached by content
watch      run again whenever a source changes
doctor     what is there, what is missing, how to mend it
toolchain  the cppless plugin and library, built once per content
packages   hands missing packages to tools/setup
process    child processes: signals and exit statuses
summary    what the library counted -> one line
progress   one line per long step
cache      directories named by content, safe against two runs at once
problem    an error with its mend
"""

VERSION = "0.1.0"

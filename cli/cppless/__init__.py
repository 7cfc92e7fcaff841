# SPDX-License-Identifier: Apache-2.0
"""The `cppless` command. `run`, `build` and `doctor` need nothing beyond the standard library.

main       command line -> one of the commands below
run        compile (or take from the cache), run, summarise
build      one C++ file -> one executable, cached by content
watch      run again whenever a source changes
musl       another C and C++ library for functions
doctor     what is there, what is missing, how to mend it
toolchain  the cppless plugin and library, built once per content
serverless the commands around AWS Lambda; cloud_options their command lines
package    a program's tasks -> one executable and zip each
deploy     what is deployed, what should be, and the steps between
cloud      AWS or what speaks its protocol: clients, role
invoke     one request to one function
logs       what functions write
cost       what AWS bills
runtime_api  Lambda's Runtime API for one function on this machine
packages   hands missing packages to tools/setup
process    child processes: signals and exit statuses
summary    what the library counted -> one line
progress   one line per long step
cache      directories named by content, safe against two runs at once
problem    an error with its mend
"""

VERSION = "0.1.0"

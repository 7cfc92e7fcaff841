# SPDX-License-Identifier: Apache-2.0
# Toolchain file: functions for AWS Lambda with musl and libc++, smaller and faster to start.
#
#   cmake -B build-musl -DCMAKE_TOOLCHAIN_FILE=<cppless>/tools/cmake/CpplessMusl.cmake
#
# find_package(cppless) then finds a library for musl, and `serverless_t` deploys functions linked with
# it. Of this file's programs only these are of use: they do not call Lambda. The same target built
# without it does, given the same CPPLESS_FUNCTION_PREFIX; its tasks have the same identities.
#
# x86_64 only. The first configuration takes ziglang from PyPI and some minutes.
include_guard(GLOBAL)

if(NOT CPPLESS_MUSL_SYSROOT)  # CMake reads this file several times
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/../../cli/cppless" musl-toolchain
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" found "${found}")
  list(GET found 0 compiler)
  list(GET found 1 prefix)
  list(GET found 2 sysroot)
  set(CPPLESS_MUSL_COMPILER ${compiler} CACHE INTERNAL "")
  set(CPPLESS_MUSL_SYSROOT ${sysroot} CACHE INTERNAL "")
  set(cppless_DIR ${prefix}/lib/cmake/cppless CACHE PATH "" FORCE)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CPPLESS_MUSL_COMPILER CPPLESS_MUSL_SYSROOT)

set(CMAKE_CXX_COMPILER ${CPPLESS_MUSL_COMPILER})
set(CMAKE_CXX_COMPILER_TARGET x86_64-linux-musl)
set(CMAKE_CXX_FLAGS_INIT "--config=\"${CPPLESS_MUSL_SYSROOT}/clang.cfg\"")
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CPPLESS_FUNCTION_SIDE_ONLY ON)
set(CPPLESS_CEREAL_INCLUDE_DIR ${CPPLESS_MUSL_SYSROOT}/usr/include)
set(CPPLESS_BOOST_INCLUDE_DIR ${CPPLESS_MUSL_SYSROOT}/usr/include)

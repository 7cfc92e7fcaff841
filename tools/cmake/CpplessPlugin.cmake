# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# cppless_load_plugin(TARGET FILE): whoever links TARGET loads the plugin FILE, if its compiler can.
# Other compilers, and clangs of another major, go without: the library then offers everything but
# capturing lambdas, and says so at the first one.
#
# Task names hold source paths relative to the top of the project that is being configured: the same
# for all its targets (a lambda in a shared header is one task), and wherever the build directory is.
function(cppless_load_plugin target file)
  math(EXPR next "${CPPLESS_LLVM_VERSION} + 1")
  set(able "$<COMPILE_LANG_AND_ID:CXX,Clang>")
  string(APPEND able ",$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,${CPPLESS_LLVM_VERSION}>")
  string(APPEND able ",$<VERSION_LESS:$<CXX_COMPILER_VERSION>,${next}>")
  foreach(flag "-fplugin=${file}" "-fplugin-arg-cppless-source-root=${CMAKE_SOURCE_DIR}")
    # BUILD_INTERFACE: an installed package loads its own copy, see cppless-config.cmake.
    target_compile_options(${target} INTERFACE "$<BUILD_INTERFACE:$<$<AND:${able}>:${flag}>>")
  endforeach()
endfunction()

// SPDX-License-Identifier: Apache-2.0
//
// A clang plugin shares C++ objects with its host and works with exactly the version it was built
// for; with another it would crash or, worse, not crash. This constructor runs before all others in
// the plugin and ends the compiler with a message that names both versions. So that it gets to run
// at all, the build makes the plugin's references to clang weak (see CMakeLists.txt): a clang that
// lacks one of them would otherwise fail to load the file, with a mangled name for an explanation.
// Nothing here may use clang or LLVM, except by looking it up.
#include <clang/Basic/Version.inc>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

// `cppless++` finds in this text which clang to call.
extern "C" __attribute__((visibility("default"), used)) const char cppless_plugin_clang_version[] =
    "cppless-plugin-clang-version=" CLANG_VERSION_STRING;

namespace {

// "Debian clang version 19.1.7 (3~deb12u1)" -> "19.1.7"; empty if this is no clang.
std::string host_version() {
  using function = std::string (*)();
  const auto full_version = reinterpret_cast<function>(
      dlsym(RTLD_DEFAULT, "_ZN5clang19getClangFullVersionB5cxx11Ev"));
  if (full_version == nullptr) {
    return {};
  }
  const std::string text = full_version();
  const std::string_view marker = "clang version ";
  const size_t found = text.find(marker);
  if (found == std::string::npos) {
    return text;
  }
  const size_t begin = found + marker.size();
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

__attribute__((constructor(101))) void check_host_version() {
  const std::string host = host_version();
  if (host == CLANG_VERSION_STRING) {
    return;
  }
  std::fprintf(stderr,
               "error: cppless-plugin.so was built for clang %s and cannot be loaded into %s%s; "
               "use clang++-%d, or build the plugin with -DCPPLESS_LLVM_VERSION=<major version>\n",
               CLANG_VERSION_STRING, host.empty() ? "this program" : "clang ", host.c_str(),
               CLANG_VERSION_MAJOR);
  _exit(1);
}

}  // namespace

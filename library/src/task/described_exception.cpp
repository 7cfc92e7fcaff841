// SPDX-License-Identifier: Apache-2.0
#include "task/described_exception.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <typeinfo>

namespace cppless::detail {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

// What the exceptions nested in this one say, outermost first, each after a colon.
std::string causes_of(const std::exception& error) {
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    return std::string(": ") + cause.what() + causes_of(cause);
  } catch (...) {
    // Nothing is known of it but its type.
  }
  return {};
}

}  // namespace

described_exception describe_current_exception() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  described_exception described;
  described.type = type == nullptr ? "unknown" : demangled(type->name());
  try {
    throw;
  } catch (const std::exception& error) {
    described.what = error.what() + causes_of(error);
  } catch (...) {
    // Nothing is known of it but its type.
  }
  return described;
}

std::string failed_text(const char* task, const described_exception& thrown) {
  std::string text = std::string("task ") + task + " threw " + thrown.type;
  if (!thrown.what.empty()) text += ": " + thrown.what;
  return text;
}

std::string out_of_memory_text(const char* task, std::uint64_t limit_bytes) {
  return std::string("task ") + task + " needs more memory than its limit of " +
         std::to_string(limit_bytes >> 20) + " MB";
}

std::string timeout_text(const char* task, std::uint64_t limit_ns) {
  return std::string("task ") + task + " ran longer than its timeout of " +
         std::to_string(limit_ns / 1'000'000'000) + " s";
}

}  // namespace cppless::detail

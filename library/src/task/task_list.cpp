// SPDX-License-Identifier: Apache-2.0
#include "task/task_list.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <cppless/detail/task/entry.hpp>
#include <cppless/detail/wire/json.hpp>

namespace cppless::detail {
namespace {

void write_limit(json_writer& json, const char* name, std::uint64_t value, std::uint64_t unit) {
  if (value == 0) return;
  json.name(name);
  json.number(value / unit);
}

std::string task_list() {
  json_writer json;
  json.name("format");
  json.number(1);
  json.name("tasks");
  json.open();
  json.make_array();
  for (const entry* task : all_entries()) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(task->identity()));
    json.open();
    json.name("identity");
    json.string(digits);
    json.name("root_symbol");
    json.string(task->root_symbol());
    json.name("name");
    json.string(task->name());
    write_limit(json, "memory_mb", task->limits.memory_bytes, 1 << 20);
    write_limit(json, "timeout_s", task->limits.timeout_ns, 1'000'000'000);
    write_limit(json, "ephemeral_storage_mb", task->limits.ephemeral_storage_bytes, 1 << 20);
    json.close();
  }
  json.close();
  return json.release() + "\n";
}

}  // namespace

int write_task_list(const char* file) {
  const std::string text = task_list();
  std::FILE* const out = std::fopen(file, "we");
  const bool is_written = out != nullptr && std::fputs(text.c_str(), out) >= 0;
  if (out != nullptr && std::fclose(out) == 0 && is_written) return 0;
  std::fprintf(stderr, "cppless: cannot write the list of tasks to %s: %s\n", file,
               std::strerror(errno));
  return 74;  // EX_IOERR
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "state/account.hpp"

#include "state/code_archive.hpp"
#include "state/digest.hpp"
#include "state/file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace platform::state {

namespace fs = std::filesystem;
using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(function_version, version, runtime, role, handler, description, code_sha256,
                                   code_size, timeout_seconds, memory_mb, ephemeral_mb, architecture, environment,
                                   tracing, last_modified, revision)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(alias, version, description, revision)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(event_policy, retries, max_age_seconds)

namespace {

constexpr int format = 1;

json to_json(const function& f) {
  json published = json::array();
  for (const auto& [number, version] : f.published) published.push_back(version);
  json made{{"current", f.current},       {"published", published}, {"next_version", f.next_version},
            {"aliases", f.aliases},       {"tags", f.tags}};
  if (f.reserved_concurrency) made["reserved_concurrency"] = *f.reserved_concurrency;
  if (f.events) made["events"] = *f.events;
  return made;
}

function to_function(const std::string& name, const json& j) {
  function f;
  f.name = name;
  f.current = j.at("current");
  for (const auto& each : j.at("published")) {
    const function_version version = each;
    f.published[std::stoull(version.version)] = version;
  }
  f.next_version = j.at("next_version");
  f.aliases = j.at("aliases");
  f.tags = j.at("tags");
  if (j.contains("reserved_concurrency")) f.reserved_concurrency = j.at("reserved_concurrency");
  if (j.contains("events")) f.events = j.at("events").get<event_policy>();
  return f;
}

}  // namespace

const function_version* function::find(std::string_view qualifier) const {
  if (qualifier.empty() || qualifier == latest) return &current;
  if (const auto named = aliases.find(std::string(qualifier)); named != aliases.end())
    return find(named->second.version);
  if (qualifier.size() > 18 || !std::all_of(qualifier.begin(), qualifier.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return nullptr;
  const auto numbered = published.find(std::stoull(std::string(qualifier)));
  return numbered == published.end() || numbered->second.version != qualifier ? nullptr : &numbered->second;
}

account::account(fs::path directory) : directory_(std::move(directory)) {
  const fs::path file = directory_ / "state.json";
  const auto text = read_file(file);
  if (text) {
    load(*text);
    return;
  }
  if (fs::exists(code_directory()))
    throw damaged(file.string() + " is missing, but there is code beside it: put the file back, or remove " +
                  directory_.string() + "/code to start without functions");
  fs::create_directories(code_directory());
  save();
}

void account::load(const std::string& text) {
  const std::string file = (directory_ / "state.json").string();
  const auto refuse = [&](const std::string& why) {
    throw damaged(file + " is damaged (" + why + "): put back a copy, or remove it and " + directory_.string() +
                  "/code to start without functions");
  };
  // First line: a digest of the rest, so that no damage passes for content.
  const auto end = text.find('\n');
  if (end == text.npos || text.substr(0, end) != hex(sha256(std::string_view(text).substr(end + 1))))
    refuse("its checksum does not match");
  try {
    const json all = json::parse(text.begin() + static_cast<std::ptrdiff_t>(end) + 1, text.end());
    if (all.at("format") != format)
      throw damaged(file + " has format " + all.at("format").dump() + "; this server knows format " + std::to_string(format));
    for (const auto& [name, each] : all.at("functions").items()) functions_[name] = to_function(name, each);
  } catch (const json::exception& error) {
    refuse(error.what());
  }
  const auto check_code = [&](const function& f, const function_version& v) {
    if (!fs::is_directory(code_directory() / v.code_sha256) || !fs::is_regular_file(code_zip(v.code_sha256)))
      throw damaged((code_directory() / v.code_sha256).string() + "[.zip], the code of function " + f.name + " version " +
                    v.version + ", is missing: put it back, or remove " + file + " and code/ to start without functions");
  };
  for (const auto& [name, f] : functions_) {
    check_code(f, f.current);
    for (const auto& [number, version] : f.published) check_code(f, version);
  }
}

function* account::find(std::string_view name) {
  const auto found = functions_.find(std::string(name));
  return found == functions_.end() ? nullptr : &found->second;
}

void account::save() {
  json all{{"format", format}, {"functions", json::object()}};
  for (const auto& [name, f] : functions_) all["functions"][name] = to_json(f);
  const std::string text = all.dump(1);
  // Environment variables may hold secrets.
  write_atomically(directory_ / "state.json", hex(sha256(text)) + "\n" + text, 0600);
}

std::string account::add_code(const std::string& zip, std::uint64_t unpacked_limit) const {
  const std::string name = hex(sha256(zip));
  const fs::path target = code_directory() / name;
  if (fs::exists(target) && fs::exists(code_zip(name))) {
    std::error_code ignored;
    fs::last_write_time(code_zip(name), fs::file_time_type::clock::now(), ignored);  // not garbage
    return name;
  }
  const fs::path partial = code_directory() / (name + ".partial");
  fs::remove_all(partial);
  fs::create_directory(partial);
  try {
    unpack_archive(zip, partial, unpacked_limit);
    write_atomically(code_zip(name), zip, 0600);
    fs::rename(partial, target);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  return name;
}

void account::collect_garbage(const std::set<std::string>& used) const {
  std::set<std::string> keep = used;
  for (const auto& [name, f] : functions_) {
    keep.insert(f.current.code_sha256);
    for (const auto& [number, version] : f.published) keep.insert(version.code_sha256);
  }
  std::error_code error;
  for (const auto& each : fs::directory_iterator(code_directory(), error)) {
    const std::string name = each.path().filename();
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(each.path(), error);
    if (error || age < std::chrono::minutes(1) || keep.contains(name.substr(0, name.find('.')))) continue;
    fs::remove_all(each.path(), error);
  }
}

}  // namespace platform::state

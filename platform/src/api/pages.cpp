// SPDX-License-Identifier: Apache-2.0
#include "api/pages.hpp"

#include "api/uri.hpp"
#include "page_html.hpp"
#include "state/digest.hpp"
#include "state/file.hpp"

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include <ctime>

namespace platform::api {
namespace {

constexpr std::time_t location_lifetime = 600;
constexpr std::string_view code_path = "/.cppless/code/";

const char* name_of(const execution::environment& each) {
  using phase = execution::environment::phase;
  switch (each.now()) {
    case phase::starting:
    case phase::initializing: return "starting";
    case phase::idle: return each.frozen() ? "frozen" : "idle";
    case phase::busy: return "busy";
    case phase::ending: return "ending";
  }
  return "";
}

}  // namespace

pages::pages(const state::account& account, const execution::fleet& fleet, const sandbox::abilities& can, const key_ring&)
    : account_(account), fleet_(fleet), can_(can), secret_(state::random_bytes(32)) {}

bool pages::serve(const http::request& message, http::responder& respond) const {
  const std::string_view path = message.path();
  if (message.method != "GET" && message.method != "HEAD") return false;
  const http::header no_store{"Cache-Control", "no-store"};
  if (path == "/") {
    respond({200, {{"Content-Type", "text/html; charset=utf-8"}, no_store,
                   {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"}},
             std::string(page_html)});
  } else if (path == "/.cppless/health") {
    respond({200, {{"Content-Type", "application/json"}}, "{\"status\":\"ok\"}\n"});
  } else if (path == "/.cppless/status") {
    respond({200, {{"Content-Type", "application/json"}, no_store}, status()});
  } else if (path.starts_with(code_path)) {
    respond(code(message));
  } else {
    return false;
  }
  return true;
}

std::string pages::status() const {
  using nlohmann::json;
  std::map<std::string, std::map<std::string, unsigned>> environments;
  fleet_.each([&](const execution::environment& each) { ++environments[each.function()][name_of(each)]; });
  json functions = json::array();
  for (const auto& [name, function] : account_.functions()) {
    json row{{"name", name}, {"memory", function.current.memory_mb}, {"timeout", function.current.timeout_seconds},
             {"versions", function.published.size()}, {"environments", environments[name]}};
    if (const auto counted = fleet_.counted().find(name); counted != fleet_.counted().end()) {
      const execution::function_statistics& of = counted->second;
      row["invocations"] = of.invocations;
      row["errors"] = of.errors;
      row["cold_starts"] = of.cold_starts;
      row["throttles"] = of.throttles;
      row["p50_ms"] = of.latency.percentile(0.5);
      row["p99_ms"] = of.latency.percentile(0.99);
    }
    functions.push_back(std::move(row));
  }
  return json{{"uptime_s", std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count()},
              {"in_flight", fleet_.in_flight()},
              {"concurrency", fleet_.settings().account_concurrency},
              {"missing", can_.missing},
              {"functions", functions}}
      .dump();
}

std::string pages::code_location(const std::string& sha256) const {
  const std::string until = std::to_string(std::time(nullptr) + location_lifetime);
  return "http://127.0.0.1:" + std::to_string(port) + std::string(code_path) + sha256 + "?until=" + until +
         "&proof=" + state::hex(state::hmac_sha256(secret_, sha256 + until));
}

http::response pages::code(const http::request& message) const {
  const std::string sha256(message.path().substr(code_path.size()));
  const std::string until = query_value(message.query(), "until");
  const std::string proof = query_value(message.query(), "proof");
  const std::string expected = state::hex(state::hmac_sha256(secret_, sha256 + until));
  const bool good = proof.size() == expected.size() && CRYPTO_memcmp(proof.data(), expected.data(), proof.size()) == 0;
  if (!good || std::strtoll(until.c_str(), nullptr, 10) < std::time(nullptr))
    return {403, {{"Content-Type", "text/plain"}}, "This address has expired or was never given out\n"};
  auto zip = state::read_file(account_.code_zip(sha256));
  if (!zip) return {404, {{"Content-Type", "text/plain"}}, "This code is gone\n"};
  return {200, {{"Content-Type", "application/zip"}}, std::move(*zip)};
}

}  // namespace platform::api

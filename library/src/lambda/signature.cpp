// SPDX-License-Identifier: Apache-2.0
#include "lambda/signature.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

namespace cppless::detail {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

bool is_unreserved(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_encoded(std::string& to, std::string_view text, bool keeps_slashes) {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_unreserved(c) || (keeps_slashes && c == '/')) {
      to += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      to += '%';
      to += digits[byte >> 4];
      to += digits[byte & 15];
    }
  }
}

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0;
    if (is_escape) {
      result += static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
    } else {
      result += text[at];
    }
  }
  return result;
}

// As botocore does it: a dot segment at the end leaves no slash.
std::string normalized_path(std::string_view path) {
  const bool ends_in_slash = path.ends_with('/');
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
  }
  std::string result;
  for (const std::string_view segment : segments) (result += '/') += segment;
  if (ends_in_slash || segments.empty()) result += '/';
  return result;
}

void append_query(std::string& to, std::string_view query) {
  std::vector<std::string> parameters;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view each = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (each.empty()) continue;
    const std::size_t equals = each.find('=');
    std::string parameter;
    append_encoded(parameter, decoded(each.substr(0, equals)), false);
    // Below all characters of a name: so that "a=" sorts before "a-b=".
    parameter += '\1';
    if (equals != std::string_view::npos) {
      append_encoded(parameter, decoded(each.substr(equals + 1)), false);
    }
    parameters.push_back(std::move(parameter));
  }
  std::sort(parameters.begin(), parameters.end());
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    if (at != 0) to += '&';
    std::replace(parameters[at].begin(), parameters[at].end(), '\1', '=');
    to += parameters[at];
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Without spaces at the ends, and with one where there are several.
std::string trimmed(std::string_view value) {
  std::string result;
  result.reserve(value.size());
  for (const char c : value) {
    if (!is_space(c)) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

struct canonical_header {
  std::string name;
  std::string value;
  std::size_t order;  ///< Among the request's.
};

// Sorted by name; values of one name joined in their order.
std::vector<canonical_header> canonical_headers(std::span<const header_view> headers) {
  std::vector<canonical_header> all;
  all.reserve(headers.size());
  for (const header_view& each : headers) {
    all.push_back({lower(each.name), trimmed(each.value), all.size()});
  }
  std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return std::tie(one.name, one.order) < std::tie(other.name, other.order);
  });
  std::vector<canonical_header> joined;
  for (canonical_header& each : all) {
    if (!joined.empty() && joined.back().name == each.name) {
      (joined.back().value += ',') += each.value;
    } else {
      joined.push_back(std::move(each));
    }
  }
  return joined;
}

std::string names_of(const std::vector<canonical_header>& headers) {
  std::string names;
  for (const canonical_header& each : headers) {
    if (!names.empty()) names += ';';
    names += each.name;
  }
  return names;
}

// What follows `name=` in a list separated by commas.
std::string_view field(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view each = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!each.empty() && is_space(each.front())) each.remove_prefix(1);
    while (!each.empty() && is_space(each.back())) each.remove_suffix(1);
    if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=') {
      return each.substr(name.size() + 1);
    }
  }
  return {};
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string amazon_date(wall_time at) {
  using namespace std::chrono;
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(floor<seconds>(at - day));
  char text[48];
  std::snprintf(text, sizeof text, "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

std::optional<wall_time> parse_amazon_date(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  bool is_number = true;
  const auto number = [&](std::size_t at, std::size_t digits) {
    unsigned value = 0;
    for (const char c : text.substr(at, digits)) {
      is_number = is_number && c >= '0' && c <= '9';
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
  };
  const year_month_day date(year(static_cast<int>(number(0, 4))), month(number(4, 2)),
                            day(number(6, 2)));
  const unsigned hour = number(9, 2);
  const unsigned minute = number(11, 2);
  const unsigned second = number(13, 2);
  // Beyond these years the clock's nanoseconds do not reach.
  if (date.year() < year(1970) || date.year() > year(2200)) return std::nullopt;
  if (!is_number || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

std::string signed_header_names(std::span<const header_view> headers) {
  return names_of(canonical_headers(headers));
}

std::string canonical_request(const signable_request& request, std::string_view body_sha256,
                              path_rule rule) {
  std::string text(request.method);
  text += '\n';
  if (rule == path_rule::as_it_is) {
    text += request.path.empty() ? "/" : request.path;
  } else {
    append_encoded(text, normalized_path(request.path), true);
  }
  text += '\n';
  append_query(text, request.query);
  text += '\n';
  const auto headers = canonical_headers(request.headers);
  for (const canonical_header& each : headers) {
    (((text += each.name) += ':') += each.value) += '\n';
  }
  ((text += '\n') += names_of(headers)) += '\n';
  return text += body_sha256;
}

hmac_sha256_key derive_signing_key(std::string_view secret_access_key, const signing_scope& scope) {
  const hmac_sha256_key secret("AWS4" + std::string(secret_access_key));
  const hmac_sha256_key day(secret.sign(scope.day));
  const hmac_sha256_key region(day.sign(scope.region));
  const hmac_sha256_key service(region.sign(scope.service));
  return hmac_sha256_key(service.sign("aws4_request"));
}

std::string string_to_sign(std::string_view date, const signing_scope& scope,
                           std::string_view canonical_request) {
  std::string text(algorithm);
  ((((text += '\n') += date) += '\n') += scope.text()) += '\n';
  return text += view(to_hex(sha256::of(canonical_request)));
}

std::string signature_of(const signable_request& request, std::string_view body_sha256,
                         std::string_view secret_access_key, std::string_view date,
                         const signing_scope& scope, path_rule rule) {
  const std::string canonical = canonical_request(request, body_sha256, rule);
  const hmac_sha256_key key = derive_signing_key(secret_access_key, scope);
  return std::string(view(to_hex(key.sign(string_to_sign(date, scope, canonical)))));
}

std::optional<authorization> parse_authorization(std::string_view header) {
  if (!header.starts_with(algorithm) || header.size() <= algorithm.size() ||
      !is_space(header[algorithm.size()])) {
    return std::nullopt;
  }
  header.remove_prefix(algorithm.size());
  const std::string_view credential = field(header, "Credential");
  const std::string_view names = field(header, "SignedHeaders");
  const std::string_view signature = field(header, "Signature");
  std::vector<std::string> scope = split(credential, '/');
  if (scope.size() < 5 || names.empty() || signature.size() != 64 ||
      scope.back() != "aws4_request") {
    return std::nullopt;
  }
  // An access key id may itself contain slashes: the scope is what is at the end.
  const std::size_t n = scope.size();
  const std::size_t scope_size = scope[n - 4].size() + scope[n - 3].size() + scope[n - 2].size() +
                                 scope[n - 1].size() + 4;
  authorization result;
  result.access_key_id = credential.substr(0, credential.size() - scope_size);
  result.scope = {std::move(scope[n - 4]), std::move(scope[n - 3]), std::move(scope[n - 2])};
  result.signed_headers = split(names, ';');
  result.signature = signature;
  if (result.access_key_id.empty() || result.scope.day.size() != 8) return std::nullopt;
  return result;
}

bool is_same_signature(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t at = 0; at < one.size(); ++at) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(one[at]) ^
                                        static_cast<unsigned char>(other[at]));
  }
  return difference == 0;
}

request_signer::kind::kind(std::string_view method, std::string_view path,
                           std::vector<header_view> headers)
    : method_(method), path_(path) {
  for (const header_view& each : headers) headers_.emplace_back(each.name, each.value);
}

void request_signer::kind::prepare(const request_signer& signer) {
  std::vector<header_view> headers;
  for (const auto& [name, value] : headers_) headers.push_back({name, value});
  headers.push_back({"x-amz-date", signer.date_});
  if (!signer.credentials_.session_token.empty()) {
    headers.push_back({"x-amz-security-token", signer.credentials_.session_token});
  }
  names_ = signed_header_names(headers);
  hashed_ = sha256().add(canonical_request({method_, path_, {}, headers}, {}));
  prepared_for_ = signer.generation_;
}

void request_signer::use(aws_credentials credentials) {
  credentials_ = std::move(credentials);
  key_.reset();
  renew();
}

void request_signer::set_time(wall_time now) {
  const std::int64_t second =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second == second_) return;
  second_ = second;
  date_ = amazon_date(now);
  renew();
}

void request_signer::renew() {
  ++generation_;
  if (date_.empty()) return;
  if (!key_ || scope_.day != std::string_view(date_).substr(0, 8)) {
    scope_ = {date_.substr(0, 8), region_, service_};
    key_ = derive_signing_key(credentials_.secret_access_key, scope_);
  }
  prefix_ = key_->start();
  prefix_.add(algorithm).add("\n").add(date_).add("\n").add(scope_.text()).add("\n");
}

std::string_view request_signer::sign(kind& what, const sha256_digest& body_hash) {
  if (what.prepared_for_ != generation_) what.prepare(*this);
  const hex_digest body = to_hex(body_hash);
  sha256 canonical = what.hashed_;
  const hex_digest hashed = to_hex(canonical.add(body.data(), body.size()).finish());
  sha256 text = prefix_;
  text.add(hashed.data(), hashed.size());
  const hex_digest signature = to_hex(key_->finish(text));
  authorization_.clear();
  ((authorization_ += algorithm) += " Credential=") += credentials_.access_key_id;
  for (const std::string_view part : {std::string_view(scope_.day), std::string_view(region_),
                                      std::string_view(service_)}) {
    (authorization_ += '/') += part;
  }
  ((authorization_ += "/aws4_request, SignedHeaders=") += what.names_) += ", Signature=";
  return authorization_ += view(signature);
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#include "api/uri.hpp"

namespace platform::api {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string encode_uri(std::string_view text, keep_slashes slashes) {
  std::string made;
  made.reserve(text.size() + 8);
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~' || (c == '/' && slashes == keep_slashes::yes);
    if (plain) {
      made += c;
    } else {
      made += '%';
      made += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      made += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    }
  }
  return made;
}

std::string decode_uri(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      made += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      made += text[i];
    }
  }
  return made;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const auto equals = pair.find('=');
    if (decode_uri(pair.substr(0, equals)) == name)
      return equals == pair.npos ? std::string() : decode_uri(pair.substr(equals + 1));
    query = end == query.npos ? std::string_view() : query.substr(end + 1);
  }
  return {};
}

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#include "state/credentials.hpp"

#include "state/account.hpp"
#include "state/digest.hpp"
#include "state/file.hpp"

#include <sstream>

#include <sys/stat.h>

namespace platform::state {
namespace {

std::string trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

std::vector<credentials> parse_credentials(const std::string& text) {
  std::vector<credentials> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) found.emplace_back();
    const auto equals = line.find('=');
    if (equals == line.npos || found.empty()) continue;
    const std::string name = trim(std::string_view(line).substr(0, equals));
    if (name == "aws_access_key_id") found.back().id = trim(std::string_view(line).substr(equals + 1));
    if (name == "aws_secret_access_key") found.back().secret = trim(std::string_view(line).substr(equals + 1));
  }
  std::erase_if(found, [](const credentials& each) { return each.id.empty() || each.secret.empty(); });
  return found;
}

std::vector<credentials> ensure_credentials(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text) {
    text = "[default]\naws_access_key_id = AKIA" + random_letters(16) + "\naws_secret_access_key = " + base64(random_bytes(30)) + "\n";
    write_atomically(file, *text, 0600);
  }
  struct stat about {};
  if (::stat(file.c_str(), &about) == 0 && (about.st_mode & 077) != 0)
    throw damaged(file.string() + " can be read by others: chmod 600 it, or remove it to get new keys");
  auto found = parse_credentials(*text);
  if (found.empty()) throw damaged(file.string() + " holds no access key: put it back, or remove it to get new keys");
  return found;
}

}  // namespace platform::state

// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

namespace cppless::migrate {

std::string parse(const std::vector<std::string>& words, request& result) {
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      result.has_flags = true;
      result.flags.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (word == "--write") {
      result.write = true;
    } else if (word == "-p" || word == "--library") {
      if (++at == words.size()) {
        return word + " needs a directory";
      }
      (word == "-p" ? result.build_directory : result.library_headers) = words[at];
    } else if (word.starts_with("-")) {
      return "unknown option " + word + "; the compiler's flags go after --";
    } else {
      result.sources.push_back(word);
    }
  }
  if (result.has_flags && !result.build_directory.empty()) {
    return "give either -p or flags after --";
  }
  return result.sources.empty() ? "name at least one source file" : "";
}

}  // namespace cppless::migrate

// SPDX-License-Identifier: Apache-2.0
// Counts the words of files: cut into pieces, count each piece in a task, merge the counts.
#include <cppless/cppless.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "report.hpp"

using word_counts = std::unordered_map<std::string, long>;

word_counts count_words(const std::string& text) {
  word_counts counts;
  std::string word;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '_') {
      word.push_back(static_cast<char>(std::tolower(c)));
    } else if (!word.empty()) {
      ++counts[word];
      word.clear();
    }
  }
  if (!word.empty()) ++counts[word];
  return counts;
}

word_counts merge(const std::vector<word_counts>& parts) {
  word_counts sum;
  for (const word_counts& part : parts)
    for (const auto& [word, count] : part) sum[word] += count;
  return sum;
}

// Cuts after white space, so that no word is cut in two.
std::vector<std::string> cut(const std::string& text, std::size_t length) {
  std::vector<std::string> pieces;
  auto from = text.begin();
  while (from != text.end()) {
    const auto left = static_cast<std::size_t>(text.end() - from);
    const auto to = std::find_if(from + std::min(length, left), text.end(),
                                 [](unsigned char c) { return std::isspace(c); });
    pieces.emplace_back(from, to);
    from = to;
  }
  return pieces;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char** argv) try {
  const example::arguments arguments(argc, argv, "Counts the words of files.",
                                     {{"megabytes", 120, "repeats the files up to that"},
                                      {"piece", 1'000'000, "bytes of text for a task"}},
                                     "[FILE...] (this program's source)");
  const std::vector<std::string> itself = {__FILE__};
  std::string once;
  for (const auto& path : arguments.files().empty() ? itself : arguments.files())
    once += read_file(path) + '\n';
  const long times = 1 + arguments["megabytes"] * 1'000'000L / std::ssize(once);
  std::string text;
  for (long i = 0; i < times; ++i) text += once;
  const auto pieces = cut(text, arguments["piece"]);

  example::race race;
  const word_counts serial = race.serial([&] {
    std::vector<word_counts> parts;
    for (const std::string& piece : pieces) parts.push_back(count_words(piece));
    return merge(parts);
  });

  const word_counts parallel = race.parallel([&] {
    cppless::default_dispatcher dispatcher;
    cppless::instance workers = dispatcher.create_instance();
    return merge(cppless::map(workers, pieces, cppless::fn<&count_words>));
  });

  std::vector<std::pair<std::string, long>> top(parallel.begin(), parallel.end());
  std::ranges::sort(top, {}, [](const auto& t) { return std::pair(-t.second, t.first); });
  top.resize(std::min<std::size_t>(top.size(), 5));
  for (const auto& [word, count] : top) std::printf("%-10s %ld\n", word.c_str(), count / times);

  word_counts expected = count_words(once);
  for (auto& [word, count] : expected) count *= times;
  return race.finish(parallel == serial && parallel == expected);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

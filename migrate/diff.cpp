// SPDX-License-Identifier: Apache-2.0
#include "diff.hpp"

#include <algorithm>

namespace cppless::migrate {
namespace {

constexpr size_t context = 3;

using lines = std::vector<std::string>;

// Each with its newline, which the last may lack.
lines split(const std::string& text) {
  lines result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    result.push_back(text.substr(at, end - at));
    at = end;
  }
  return result;
}

// Old lines [first, last) become `now`.
struct change {
  size_t first;
  size_t last;
  lines now;
};

bool adds_whole_lines(const edit& each, const std::string& before) {
  return each.length == 0 && each.text.ends_with('\n') &&
         (each.offset == 0 || before[each.offset - 1] == '\n');
}

std::vector<change> changes_of(const changed_file& file, const lines& old) {
  std::vector<size_t> starts{0};
  for (const std::string& line : old) {
    starts.push_back(starts.back() + line.size());
  }
  const auto line_at = [&](size_t offset) {
    const auto next = std::upper_bound(starts.begin(), starts.end() - 1, offset);
    return static_cast<size_t>(next - starts.begin()) - 1;
  };
  std::vector<change> result;
  for (auto each = file.edits.begin(); each != file.edits.end();) {
    const size_t first = line_at(each->offset);
    if (adds_whole_lines(*each, file.before)) {
      const size_t at = each->offset == starts.back() ? old.size() : first;
      result.push_back({at, at, split(each->text)});
      ++each;
      continue;
    }
    // All edits of one run of lines together.
    size_t last = first + 1;
    size_t at = starts[first];
    std::string now;
    for (; each != file.edits.end() && each->offset < starts[last] + (last == old.size()) &&
           !adds_whole_lines(*each, file.before);
         ++each) {
      now.append(file.before, at, each->offset - at).append(each->text);
      at = each->offset + each->length;
      last = std::max(last, line_at(at) + 1);
    }
    now.append(file.before, at, starts[last] - at);
    result.push_back({first, last, split(now)});
  }
  return result;
}

// As diff(1) shows them: what was, then what is.
std::vector<change> without_touching(const std::vector<change>& changes) {
  std::vector<change> result;
  for (const change& each : changes) {
    if (result.empty() || result.back().last != each.first) {
      result.push_back(each);
      continue;
    }
    result.back().last = each.last;
    result.back().now.insert(result.back().now.end(), each.now.begin(), each.now.end());
  }
  return result;
}

void append_line(std::string& out, char mark, const std::string& line) {
  out += mark;
  out += line;
  if (!line.ends_with('\n')) {
    out += "\n\\ No newline at end of file\n";
  }
}

// "12,5", and as diff(1) has it the line before where there are none.
std::string span(size_t first, size_t count) {
  return std::to_string(count == 0 ? first : first + 1) + "," + std::to_string(count);
}

}  // namespace

std::string unified_diff(const changed_file& file) {
  const lines old = split(file.before);
  const std::vector<change> changes = without_touching(changes_of(file, old));
  const std::string name = shown_path(file.path);
  std::string result = "--- a/" + name + "\n+++ b/" + name + "\n";
  size_t shift = 0;  // by how much later lines have moved down
  for (size_t from = 0; from < changes.size();) {
    size_t to = from + 1;
    while (to < changes.size() && changes[to].first <= changes[to - 1].last + 2 * context) {
      ++to;
    }
    const size_t first = changes[from].first - std::min(context, changes[from].first);
    const size_t last = std::min(old.size(), changes[to - 1].last + context);
    std::string body;
    size_t at = first;
    size_t added = 0;
    size_t removed = 0;
    for (; from < to; ++from) {
      const change& each = changes[from];
      for (; at < each.first; ++at) append_line(body, ' ', old[at]);
      for (; at < each.last; ++at, ++removed) append_line(body, '-', old[at]);
      for (const std::string& line : each.now) append_line(body, '+', line);
      added += each.now.size();
    }
    for (; at < last; ++at) append_line(body, ' ', old[at]);
    result += "@@ -" + span(first, last - first) + " +" +
              span(first + shift, last - first + added - removed) + " @@\n" + body;
    shift += added - removed;
  }
  return result;
}

}  // namespace cppless::migrate

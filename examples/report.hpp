// SPDX-License-Identifier: Apache-2.0
// What the examples share: sizes from the command line, and the race of a serial run against a
// parallel one. Nothing here is needed to use cppless.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace example {

struct size {
  std::string name;
  long value;
  std::string meaning;
};

// Reads `--name value` for each size and keeps everything else as files. Prints what the program
// takes on `--help`, and ends it with exit code 2 on a size that is not a positive number.
class arguments {
 public:
  arguments(int argc, char** argv, std::string_view purpose, std::vector<size> sizes,
            std::string_view files = "")
      : sizes_(std::move(sizes)) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (word == "--help") help(argv[0], purpose, files);
      if (word.starts_with("--")) {
        read(word, i + 1 < argc ? argv[i + 1] : "nothing");
        ++i;
      } else if (files.empty()) {
        fail("unexpected argument '" + std::string(word) + "', see --help");
      } else {
        files_.emplace_back(word);
      }
    }
  }

  int operator[](std::string_view name) const {
    for (const size& s : sizes_)
      if (s.name == name) return static_cast<int>(s.value);
    fail("the example has no size '" + std::string(name) + "'");
  }

  const std::vector<std::string>& files() const { return files_; }

 private:
  void read(std::string_view word, std::string_view text) {
    for (size& s : sizes_) {
      if (word.substr(2) != s.name) continue;
      const char* last = text.data() + text.size();
      const auto [end, error] = std::from_chars(text.data(), last, s.value);
      if (error == std::errc{} && end == last && s.value > 0 && s.value <= 2'000'000'000) return;
      fail(std::string(word) + " takes a number in [1, 2000000000], not '" + std::string(text) +
           "'");
    }
    fail("unknown option '" + std::string(word) + "', see --help");
  }

  [[noreturn]] static void fail(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(2);
  }

  [[noreturn]] void help(const char* program, std::string_view purpose, std::string_view files) {
    std::printf("%.*s\n\nusage: %s [options] %.*s\n", int(purpose.size()), purpose.data(), program,
                int(files.size()), files.data());
    for (const size& s : sizes_)
      std::printf("  --%-9s %s (%ld)\n", s.name.c_str(), s.meaning.c_str(), s.value);
    std::exit(0);
  }

  std::vector<size> sizes_;
  std::vector<std::string> files_;
};

// Times the two halves of an example and prints what came out.
class race {
 public:
  template <class Work>
  auto serial(Work work) {
    return timed("serial", serial_, work);
  }

  // Starting the workers is part of the work: create the instance inside.
  template <class Work>
  auto parallel(Work work) {
    return timed("parallel", parallel_, work);
  }

  // Returns the program's exit code: 0 if the answer is right, else 1.
  int finish(bool right) const {
    std::printf("%-10s %6.2f\n%s\n", "speed-up", serial_ / parallel_,
                right ? "verified" : "WRONG ANSWER");
    return right ? 0 : 1;
  }

 private:
  template <class Work>
  static auto timed(const char* name, double& seconds, Work& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%-10s %6.2f s\n", name, seconds);
    std::fflush(stdout);
    return result;
  }

  double serial_ = 0;
  double parallel_ = 0;
};

}  // namespace example

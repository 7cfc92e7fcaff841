// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include "sandbox/spawner.hpp"
#include "server.hpp"

#include <exception>
#include <iostream>
#include <string_view>

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--spawner") return platform::sandbox::run_spawner(3);
  try {
    const platform::options wanted = platform::parse_options(count, words);
    if (wanted.help) {
      std::cout << platform::usage;
      return 0;
    }
    platform::run_server(wanted);
    return 0;
  } catch (const std::invalid_argument& problem) {
    std::cerr << "cppless-platform: error: " << problem.what() << "\n" << platform::usage;
    return 2;
  } catch (const std::exception& problem) {
    std::cerr << "cppless-platform: error: " << problem.what() << std::endl;
    return 1;
  }
}

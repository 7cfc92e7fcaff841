// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/arn.hpp"
#include "execution/fleet.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace platform {

struct options {
  std::filesystem::path state;
  unsigned short port = 9555;
  unsigned short tls_port = 9556;
  api::place here;
  execution::fleet_settings fleet;
  std::chrono::milliseconds event_retry_delay = std::chrono::minutes(1);
  std::string moto;  ///< path of moto_server; empty: the services it has are not offered
  bool help = false;
};

/// Throws std::invalid_argument saying what is wrong with which option.
options parse_options(int count, char** words);
extern const char* const usage;

}  // namespace platform

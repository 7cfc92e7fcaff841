// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <charconv>
#include <stdexcept>

namespace platform {
namespace {

std::uint64_t number(const std::string& name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw std::invalid_argument(name + " " + text + " is not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

}  // namespace

const char* const usage =
    "cppless-platform --state DIRECTORY [options]: a local cloud that speaks the AWS Lambda API\n"
    "  --port N             plain HTTP/1.1 and HTTP/2 on the loopback interface (default 9555; 0: any free)\n"
    "  --tls-port N         the same over TLS (default 9556; 0: any free)\n"
    "  --concurrency N      invocations at once in the account (default 1000)\n"
    "  --burst N            how far a function may scale up within 10 s (default 1000)\n"
    "  --idle-seconds N     environments idle for longer are ended (default 600)\n"
    "  --freeze-after-ms N  environments idle for longer are frozen (default 10)\n"
    "  --event-retry-ms N   before the first retry of an asynchronous invocation (default 60000)\n"
    "  --region NAME        default us-east-1\n"
    "  --moto FILE          moto_server, which then serves S3, IAM, STS and CloudWatch Logs\n";

options parse_options(int count, char** words) {
  options made;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--help" || name == "-h") {
      made.help = true;
      return made;
    }
    if (i + 1 == count) throw std::invalid_argument(name + " needs a value");
    const std::string value = words[++i];
    if (name == "--state") made.state = std::filesystem::absolute(value);
    else if (name == "--port") made.port = static_cast<unsigned short>(number(name, value, 0, 65535));
    else if (name == "--tls-port") made.tls_port = static_cast<unsigned short>(number(name, value, 0, 65535));
    else if (name == "--concurrency") made.fleet.account_concurrency = static_cast<unsigned>(number(name, value, 1, 100'000));
    else if (name == "--burst") made.fleet.burst = static_cast<unsigned>(number(name, value, 1, 100'000));
    else if (name == "--idle-seconds") made.fleet.idle_time = std::chrono::seconds(number(name, value, 1, 86'400));
    else if (name == "--freeze-after-ms") made.fleet.freeze_after = std::chrono::milliseconds(number(name, value, 0, 3'600'000));
    else if (name == "--event-retry-ms") made.event_retry_delay = std::chrono::milliseconds(number(name, value, 1, 3'600'000));
    else if (name == "--region") made.here.region = value;
    else if (name == "--moto") made.moto = value;
    else throw std::invalid_argument("unknown option " + name);
  }
  if (made.state.empty()) throw std::invalid_argument("--state DIRECTORY is needed");
  return made;
}

}  // namespace platform

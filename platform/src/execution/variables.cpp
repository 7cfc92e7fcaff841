// SPDX-License-Identifier: Apache-2.0
#include "execution/variables.hpp"

namespace platform::execution {

std::vector<std::string> environment_variables(const environment& of, const std::string& region, const function_key& key) {
  const state::function_version& version = of.version();
  std::vector<std::string> made{
      "AWS_LAMBDA_FUNCTION_NAME=" + of.function(),
      "AWS_LAMBDA_FUNCTION_VERSION=" + version.version,
      "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + std::to_string(version.memory_mb),
      "AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + of.function(),
      "AWS_LAMBDA_LOG_STREAM_NAME=" + of.log_stream(),
      "AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
      "_HANDLER=" + version.handler,
      "AWS_REGION=" + region,
      "AWS_DEFAULT_REGION=" + region,
      "AWS_ACCESS_KEY_ID=" + key.id,
      "AWS_SECRET_ACCESS_KEY=" + key.secret,
      "AWS_SESSION_TOKEN=" + key.token,
      "LAMBDA_TASK_ROOT=/var/task",
      "LAMBDA_RUNTIME_DIR=/var/runtime",
      "PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin",
      "LD_LIBRARY_PATH=/var/task:/var/task/lib:/opt/lib",
      "LANG=en_US.UTF-8",
      "TZ=:UTC"};
  for (const auto& [name, value] : version.environment) {
    // A function's own PATH, say, replaces ours.
    const std::string start = name + "=";
    std::erase_if(made, [&](const std::string& each) { return each.starts_with(start); });
    made.push_back(start + value);
  }
  return made;
}

}  // namespace platform::execution

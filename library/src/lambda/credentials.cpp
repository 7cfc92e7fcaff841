// SPDX-License-Identifier: Apache-2.0
#include "lambda/credentials.hpp"

#include <fstream>
#include <optional>
#include <vector>

#include <cppless/errors.hpp>

#include "http/fetch.hpp"

namespace cppless::detail {
namespace {

using std::chrono::seconds;

constexpr auto container_timeout = seconds(5);
constexpr auto metadata_timeout = seconds(1);

std::optional<aws_credentials> from_environment() {
  aws_credentials found{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                        environment("AWS_SESSION_TOKEN"), {}};
  if (found.access_key_id.empty() && found.secret_access_key.empty()) return std::nullopt;
  if (found.access_key_id.empty() || found.secret_access_key.empty()) {
    throw rejected("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set: set both");
  }
  return found;
}

std::optional<aws_credentials> from_profile(const aws_profile& profile) {
  aws_credentials found{profile.get("aws_access_key_id"), profile.get("aws_secret_access_key"),
                        profile.get("aws_session_token"), {}};
  if (!found.access_key_id.empty() && !found.secret_access_key.empty()) return found;
  for (const char* setting : {"role_arn", "sso_session", "sso_start_url", "credential_process",
                              "web_identity_token_file"}) {
    if (profile.get(setting).empty()) continue;
    throw rejected("profile " + profile.name + " gets its credentials through " + setting +
                   ", which cppless does not do itself. Run: eval \"$(aws configure "
                   "export-credentials --profile " + profile.name + " --format env)\"");
  }
  return std::nullopt;
}

std::string checked_body(const http_answer& answer, const std::string& what) {
  if (answer.status == 200) return answer.body;
  throw rejected(what + " answered with HTTP status " + std::to_string(answer.status) + ": " +
                 answer.body.substr(0, 200));
}

std::optional<aws_credentials> from_container() {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  const std::string url = relative.empty() ? full : "http://169.254.170.2" + relative;
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !path.empty()) {
    std::ifstream file(path);
    std::getline(file, token);
  }
  std::vector<http_header> headers;
  if (!token.empty()) headers.push_back({"authorization", token});
  const http_answer answer = http_fetch("GET", url, headers, container_timeout);
  return parse_credentials(checked_body(answer, "the container's credential endpoint " + url));
}

std::optional<aws_credentials> from_instance_metadata() {
  std::string disabled = environment("AWS_EC2_METADATA_DISABLED");
  for (char& c : disabled) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (disabled == "true") return std::nullopt;
  std::string base = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  std::string token;
  try {
    const http_header lifetime{"x-aws-ec2-metadata-token-ttl-seconds", "21600"};
    const http_answer answer =
        http_fetch("PUT", base + "/latest/api/token", {&lifetime, 1}, metadata_timeout);
    if (answer.status != 200) return std::nullopt;
    token = answer.body;
  } catch (const error&) {
    return std::nullopt;  // this is no EC2 instance
  }
  const http_header proof{"x-aws-ec2-metadata-token", token};
  const std::string path = base + "/latest/meta-data/iam/security-credentials/";
  const http_answer roles = http_fetch("GET", path, {&proof, 1}, metadata_timeout);
  if (roles.status != 200) return std::nullopt;  // an instance without a role
  const std::string role = roles.body.substr(0, roles.body.find('\n'));
  const http_answer answer = http_fetch("GET", path + role, {&proof, 1}, metadata_timeout);
  return parse_credentials(checked_body(answer, "the instance's metadata " + path + role));
}

}  // namespace

aws_credentials find_credentials(const std::string& profile_name) {
  const aws_profile profile = load_profile(profile_name);
  if (!profile_name.empty() && !profile.exists) {
    throw rejected("there is no AWS profile '" + profile_name + "' in " + profile.files);
  }
  std::optional<aws_credentials> found;
  if (profile_name.empty()) found = from_environment();
  if (!found) found = from_profile(profile);
  if (!found) found = from_container();
  if (!found) found = from_instance_metadata();
  if (found) return *found;
  throw rejected(
      "no AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run "
      "`aws configure`, or name a profile with AWS_PROFILE; for the local cloud run `cppless "
      "platform start`. Looked at: the environment, profile " + profile.name + " in " +
      profile.files + ", the container's and the instance's metadata");
}

}  // namespace cppless::detail

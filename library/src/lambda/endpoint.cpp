// SPDX-License-Identifier: Apache-2.0
#include "lambda/endpoint.hpp"

#include <initializer_list>

#include <cppless/errors.hpp>

#include "lambda/shared_config.hpp"

namespace cppless::detail {
namespace {

std::string first_of(std::initializer_list<std::string> candidates) {
  for (const std::string& each : candidates) {
    if (!each.empty()) return each;
  }
  return {};
}

bool is_region(const std::string& text) {
  for (const char c : text) {
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-') return false;
  }
  return !text.empty() && text.size() <= 63;
}

// China's regions have a domain of their own.
std::string domain_of(const std::string& region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace

lambda_endpoint find_endpoint(const std::string& url, const std::string& region,
                              const std::string& profile_name, const std::string& ca_bundle) {
  const aws_profile profile = load_profile(profile_name);
  lambda_endpoint found;
  found.region = first_of({region, environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"),
                           profile.get("region")});
  found.ca_bundle = first_of({ca_bundle, environment("AWS_CA_BUNDLE"), profile.get("ca_bundle")});
  const bool ignores_files = environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true";
  const std::string configured =
      ignores_files ? std::string()
                    : first_of({environment("AWS_ENDPOINT_URL_LAMBDA"),
                                environment("AWS_ENDPOINT_URL"), profile.get("endpoint_url")});
  const std::string text = first_of({url, configured});
  if (found.region.empty()) {
    // Whoever runs a server of his own need not know what regions are.
    if (text.empty()) {
      throw rejected(
          "no AWS region is set. Set AWS_REGION (AWS_REGION=eu-central-1, say), or `region` of "
          "profile " + profile.name + " in ~/.aws/config; for a server of your own set "
          "AWS_ENDPOINT_URL, for the local cloud run `cppless platform start`");
    }
    found.region = "us-east-1";
  }
  if (!is_region(found.region)) {
    throw rejected("'" + found.region + "' is no AWS region: lower-case letters, digits and '-'");
  }
  found.url = parse_url(text.empty() ? "https://lambda." + found.region + '.' +
                                           domain_of(found.region)
                                     : text);
  return found;
}

}  // namespace cppless::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "http/url.hpp"

namespace cppless::detail {

struct lambda_endpoint {
  http_url url;
  std::string region;
  std::string ca_bundle;  ///< Empty: the system's.
};

/// Region and endpoint: what is given here goes first, then the environment (AWS_REGION,
/// AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_LAMBDA, AWS_ENDPOINT_URL; AWS_CA_BUNDLE), then the profile
/// (region, endpoint_url, ca_bundle), then AWS's own endpoint of the region. Throws `rejected` that
/// says what to set if there is no region.
lambda_endpoint find_endpoint(const std::string& url, const std::string& region,
                              const std::string& profile, const std::string& ca_bundle);

}  // namespace cppless::detail

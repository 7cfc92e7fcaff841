// SPDX-License-Identifier: Apache-2.0
#include <cppless/aws_lambda.hpp>

#include <memory>
#include <optional>

#include "lambda/credentials.hpp"
#include "lambda/endpoint.hpp"
#include "lambda/function_name.hpp"
#include "lambda/lambda_instance.hpp"

namespace cppless {
namespace {

constexpr unsigned usual_in_flight = 1000;
constexpr unsigned usual_connections = 64;

aws_lambda_options options_from_env() {
  aws_lambda_options options;
  const detail::lambda_endpoint endpoint = detail::find_endpoint({}, {}, {}, {});
  const detail::http_url& url = endpoint.url;
  options.endpoint = url.origin.text() + url.path;
  options.region = endpoint.region;
  options.ca_bundle = endpoint.ca_bundle;
  options.function_prefix = detail::function_prefix({});
  return options;
}

instance create(const aws_lambda_options& options, detail::http_client::version version) {
  detail::lambda_instance::options chosen;
  chosen.endpoint = detail::find_endpoint(options.endpoint, options.region, options.profile,
                                          options.ca_bundle);
  chosen.prefix = detail::function_prefix(options.function_prefix);
  chosen.profile = options.profile;
  chosen.most_in_flight = options.most_in_flight != 0 ? options.most_in_flight : usual_in_flight;
  chosen.duplicates_stragglers = options.duplicate_stragglers;
  chosen.http.wanted = version;
  chosen.http.most_connections =
      options.most_connections != 0 ? options.most_connections : usual_connections;
  chosen.http.ca_bundle = chosen.endpoint.ca_bundle;
  chosen.credentials = detail::find_credentials(options.profile);
  return instance(std::make_shared<detail::lambda_instance>(std::move(chosen)));
}

}  // namespace

aws_lambda_nghttp2_dispatcher aws_lambda_nghttp2_dispatcher::from_env() {
  return aws_lambda_nghttp2_dispatcher(options_from_env());
}

instance aws_lambda_nghttp2_dispatcher::create_instance() const {
  return create(options_, detail::http_client::version::http2);
}

aws_lambda_beast_dispatcher aws_lambda_beast_dispatcher::from_env() {
  return aws_lambda_beast_dispatcher(options_from_env());
}

instance aws_lambda_beast_dispatcher::create_instance() const {
  return create(options_, detail::http_client::version::http1);
}

// What default_dispatcher calls where it is linked.
extern "C" void cppless_create_aws_instance(std::optional<instance>& created) {
  created.emplace(aws_dispatcher::from_env().create_instance());
}

}  // namespace cppless

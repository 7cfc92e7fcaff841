// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/message.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace platform::api {

/// An answer that is an error, as AWS words it.
struct error : std::runtime_error {
  error(unsigned status_, std::string type_, const std::string& message, std::string reason_ = {})
      : runtime_error(message), status(status_), type(std::move(type_)), reason(std::move(reason_)) {}
  unsigned status;
  std::string type;    ///< the exception's name: X-Amzn-ErrorType
  std::string reason;  ///< of a TooManyRequestsException
};

http::response to_response(const error& what);
/// As services answer that speak XML: S3 ("s3") and those with a query API (IAM, STS).
http::response to_xml_response(const error& what, std::string_view service);

[[noreturn]] void invalid_parameter(const std::string& message);
/// 400 ValidationException, by which AWS means that the request does not fit the service's model, while
/// InvalidParameterValueException is the service's own: `what` is the sentence behind "1 validation error detected: ".
[[noreturn]] void failed_validation(const std::string& what);
[[noreturn]] void not_found(const std::string& message);

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#include "api/error.hpp"

#include <nlohmann/json.hpp>

namespace platform::api {

http::response to_response(const error& what) {
  // The service model spells the member "Message" in some exceptions and "message" in the others.
  const bool capital = what.type == "ResourceNotFoundException" || what.type == "ServiceException" ||
                       what.type == "InvalidZipFileException" || what.type == "InvalidRuntimeException";
  nlohmann::json body{{capital ? "Message" : "message", what.what()}};
  if (what.status != 403) body["Type"] = what.status >= 500 ? "Service" : "User";
  if (!what.reason.empty()) body["Reason"] = what.reason;
  http::response answer{what.status,
                        {{"Content-Type", "application/json"}, {"x-amzn-ErrorType", what.type}},
                        body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  return answer;
}

void invalid_parameter(const std::string& message) { throw error(400, "InvalidParameterValueException", message); }
void not_found(const std::string& message) { throw error(404, "ResourceNotFoundException", message); }

}  // namespace platform::api

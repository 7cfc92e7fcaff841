// SPDX-License-Identifier: Apache-2.0
#include "api/error.hpp"

#include <nlohmann/json.hpp>

namespace platform::api {

http::response to_response(const error& what) {
  // The service model spells the member "Message" in some exceptions and "message" in the others.
  const bool capital = what.type == "ResourceNotFoundException" || what.type == "ServiceException" ||
                       what.type == "InvalidZipFileException" || what.type == "InvalidRuntimeException";
  nlohmann::json body{{capital ? "Message" : "message", what.what()}};
  if (what.status != 403 && what.type != "ValidationException") body["Type"] = what.status >= 500 ? "Service" : "User";
  if (!what.reason.empty()) body["Reason"] = what.reason;
  http::response answer{what.status,
                        {{"Content-Type", "application/json"}, {"x-amzn-ErrorType", what.type}},
                        body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  return answer;
}

http::response to_xml_response(const error& what, std::string_view service) {
  std::string code = what.type;
  if (code == "InvalidSignatureException") code = "SignatureDoesNotMatch";
  if (code == "UnrecognizedClientException") code = service == "s3" ? "InvalidAccessKeyId" : "InvalidClientTokenId";
  if (code.ends_with("Exception")) code.resize(code.size() - 9);
  std::string text;
  for (const char* at = what.what(); *at; ++at) {
    if (*at == '<') text += "&lt;";
    else if (*at == '&') text += "&amp;";
    else text += static_cast<unsigned char>(*at) < 32 ? ' ' : *at;
  }
  const std::string inner = "<Error>" + std::string(service == "s3" ? "" : "<Type>Sender</Type>") + "<Code>" + code + "</Code><Message>" + text + "</Message></Error>";
  return {what.status, {{"Content-Type", "text/xml"}},
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + (service == "s3" ? inner : "<ErrorResponse>" + inner + "</ErrorResponse>")};
}

void invalid_parameter(const std::string& message) { throw error(400, "InvalidParameterValueException", message); }

void failed_validation(const std::string& what) {
  throw error(400, "ValidationException", "1 validation error detected: " + what);
}
void not_found(const std::string& message) { throw error(404, "ResourceNotFoundException", message); }

}  // namespace platform::api

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <filesystem>

namespace platform::http {

/// Makes, unless they are there, a certificate authority (`ca.pem`, what clients trust: AWS_CA_BUNDLE)
/// and a server certificate for localhost, 127.0.0.1 and ::1. Keys are readable by the owner only.
void ensure_certificates(const std::filesystem::path& directory);

/// A server context from those files: TLS 1.2 and later, ALPN h2 and http/1.1.
boost::asio::ssl::context server_context(const std::filesystem::path& directory);

}  // namespace platform::http

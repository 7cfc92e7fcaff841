// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/arn.hpp"
#include "api/front.hpp"
#include "execution/function_log.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <filesystem>
#include <set>
#include <string>

namespace platform::neighbours {

/// S3, IAM, STS and CloudWatch Logs, served by moto (a Python program) as a child process: our server
/// checks signatures and forwards. Functions' logs are put into its CloudWatch Logs.
class moto final : public api::neighbour {
 public:
  /// `program` empty: there is none; its services are refused with words that say so.
  moto(boost::asio::io_context& context, std::string program, const api::place& here, execution::function_logs& logs,
       const std::filesystem::path& log_file);
  ~moto() override;

  bool serves(const std::string& service) const override;
  void forward(http::request message, http::responder respond) override;
  void fetch(const std::string& bucket, const std::string& key, std::function<void(std::optional<std::string>, std::string)> call);

 private:
  void start(const std::filesystem::path& log_file);
  void carry_logs();
  void send_logs();
  void ask_logs(const std::string& operation, const std::string& body, std::function<void(bool)> then);
  http::request own_request(const std::string& service, const std::string& method, const std::string& target) const;

  boost::asio::io_context& context_;
  std::string program_;
  api::place here_;
  execution::function_logs& logs_;
  boost::asio::steady_timer timer_;
  unsigned short port_ = 0;
  pid_t child_ = -1;
  bool sending_ = false;
  std::set<std::string> streams_;
};

}  // namespace platform::neighbours

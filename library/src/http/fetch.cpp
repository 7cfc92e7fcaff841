// SPDX-License-Identifier: Apache-2.0
#include "http/fetch.hpp"

#include <optional>

#include <cppless/errors.hpp>

#include "http/client.hpp"

namespace cppless::detail {
namespace {

constexpr std::size_t longest_answer = 64 * 1024;

class fetch final : public http_exchange {
 public:
  explicit fetch(http_request request) : request_(request) {}

  http_request prepare() override { return request_; }
  void on_status(unsigned status) override { answer.status = status; }
  void on_header(std::string_view, std::string_view) override {}
  bool on_body(std::string_view some) override {
    answer.body += some;
    return answer.body.size() <= longest_answer;
  }
  void on_end() override { is_done = true; }
  void on_failure(const http_failure& failure) override {
    is_done = true;
    problem = failure.message;
  }

  http_answer answer;
  bool is_done = false;
  std::optional<std::string> problem;

 private:
  http_request request_;
};

}  // namespace

http_answer http_fetch(std::string_view method, std::string_view url_text,
                       std::span<const http_header> headers, std::chrono::nanoseconds timeout) {
  const http_url url = parse_url(url_text);
  boost::asio::io_context loop(1);
  http_client::options options;
  options.wanted = http_client::version::http1;
  options.most_connections = 1;
  options.longest_body = longest_answer;
  options.connect_timeout = timeout;
  http_client client(loop, url.origin, options);
  fetch asked({method, url.path, headers, {}});
  client.submit(asked);
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (!asked.is_done && loop.run_one_until(until) != 0) {
  }
  if (!asked.is_done) {
    client.abandon(asked);
    asked.problem = "no answer in time";
  }
  if (asked.problem) throw lost(std::string(url_text) + ": " + *asked.problem);
  return asked.answer;
}

}  // namespace cppless::detail

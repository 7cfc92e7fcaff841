// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "answer.hpp"
#include "measure.hpp"

/// libcurl's multi interface, each request signed by it: `bench_lambda_libcurl PORT tls|plain
/// IN_FLIGHT COUNT CERTIFICATE [once]` prints what bench_lambda_ours does. Over HTTP/1.1: Debian 12's
/// libcurl breaks on HTTP/2 connections that it uses again, with TLS and without.
namespace {

struct request {
  CURL* handle = nullptr;
  std::string answer;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

struct client {
  CURLM* multi = ::curl_multi_init();
  std::string url;
  std::string body;
  std::string certificate;
  curl_slist* headers = ::curl_slist_append(
      ::curl_slist_append(nullptr, "Content-Type: application/json"),
      "X-Amz-Invocation-Type: RequestResponse");
  std::vector<request> requests;

  void prepare(request& made);
  void take_answer(CURLMsg& message);
  void round(std::size_t in_flight, std::size_t count);
};

void client::prepare(request& made) {
  CURL* const handle = made.handle = ::curl_easy_init();
  ::curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
  ::curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  ::curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:lambda");
  ::curl_easy_setopt(handle, CURLOPT_USERPWD, "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
  ::curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  ::curl_easy_setopt(handle, CURLOPT_CAINFO, certificate.c_str());
  ::curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take);
  ::curl_easy_setopt(handle, CURLOPT_WRITEDATA, &made.answer);
  ::curl_easy_setopt(handle, CURLOPT_PRIVATE, &made);
}

void client::take_answer(CURLMsg& message) {
  request* of = nullptr;
  long status = 0;
  ::curl_easy_getinfo(message.easy_handle, CURLINFO_PRIVATE, &of);
  ::curl_easy_getinfo(message.easy_handle, CURLINFO_RESPONSE_CODE, &status);
  if (message.data.result != CURLE_OK || status != 200 || of->answer != bench::answer) {
    std::fprintf(stderr, "%s, status %ld, %s\n", ::curl_easy_strerror(message.data.result), status,
                 of->answer.c_str());
    std::exit(1);
  }
  of->answer.clear();
  ::curl_multi_remove_handle(multi, of->handle);
}

void client::round(std::size_t in_flight, std::size_t count) {
  std::size_t sent = 0;
  for (std::size_t done = 0; done < count;) {
    while (sent < std::min(in_flight, count) && sent - done < in_flight) {
      ::curl_multi_add_handle(multi, requests[sent++].handle);
    }
    int running = 0;
    ::curl_multi_perform(multi, &running);
    int left = 0;
    bool has_news = false;
    while (CURLMsg* const message = ::curl_multi_info_read(multi, &left)) {
      CURL* const handle = message->easy_handle;
      take_answer(*message);
      has_news = true;
      ++done;
      if (sent < count) ++sent, ::curl_multi_add_handle(multi, handle);
    }
    if (!has_news && done < count) ::curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const bench::stopwatch since_start;
  const bool is_tls = std::strcmp(argv[2], "tls") == 0;
  const bool is_once = argc > 6;
  const std::size_t in_flight = std::strtoul(argv[3], nullptr, 10);
  const std::size_t count = std::strtoul(argv[4], nullptr, 10);
  ::curl_global_init(CURL_GLOBAL_ALL);
  client of;
  of.certificate = argv[5];
  of.body = '"' + std::string(is_once ? 12 : 268, 'x') + '"';
  of.url = std::string(is_tls ? "https" : "http") + "://127.0.0.1:" + argv[1] +
           "/2015-03-31/functions/libcurl-0123456789abcdef/invocations";
  ::curl_multi_setopt(of.multi, CURLMOPT_MAXCONNECTS, static_cast<long>(in_flight));
  of.requests.resize(in_flight);
  for (request& each : of.requests) of.prepare(each);
  of.round(in_flight, in_flight);
  if (is_once) return since_start.print_ms(), 0;
  const bench::stopwatch since_warm;
  of.round(in_flight, count);
  since_warm.print(count);
}

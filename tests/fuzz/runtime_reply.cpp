// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"

#include "lambda/runtime_reply.hpp"

#include <algorithm>
#include <string_view>

/// What a function reads from the Runtime API, in pieces of a size that the first byte says: the
/// pieces must make no difference.
namespace {

struct outcome {
  std::string fault;  // empty: none
  bool is_done = false;
  unsigned status = 0;
  std::string body, id;
  bool operator==(const outcome&) const = default;
};

outcome read(std::string_view text, std::size_t piece) {
  cppless::detail::runtime_reply_reader reader;
  outcome seen;
  std::string held;
  try {
    while (!reader.is_done() && !text.empty()) {
      held += text.substr(0, piece);
      text.remove_prefix(std::min(piece, text.size()));
      held.erase(0, reader.put(held));
    }
    if (!reader.is_done()) reader.put_end();
  } catch (const cppless::rejected& why) {
    seen.fault = "rejected";
  }
  seen.is_done = reader.is_done();
  if (!seen.fault.empty()) return seen;
  if (!seen.is_done) fuzz::fail("neither done nor rejected");
  const auto& reply = reader.reply();
  if (reply.body.size() > cppless::detail::most_lambda_payload) fuzz::fail("too large");
  for (const char c : reply.request_id) {
    if (std::string_view("/. \r\n?%").find(c) != std::string_view::npos) fuzz::fail("unsafe id");
  }
  seen.status = reply.status;
  seen.body = reply.body;
  seen.id = reply.request_id;
  return seen;
}

}  // namespace

namespace fuzz {

seeds make_seeds() {
  return {"\1HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: 8476a536-e9f4\r\n"
          "Lambda-Runtime-Deadline-Ms: 1542409706888\r\nLambda-Runtime-Trace-Id: Root=1-5b\r\n"
          "Content-Type: application/json\r\nContent-Length: 6\r\n\r\n\"QUJD\"",
          "\7HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\"QUJ\r\n2;x=y\r\nD\"\r\n"
          "0\r\nX: y\r\n\r\n",
          "\3HTTP/1.0 500 Sorry\r\n\r\nuntil the end", "\2HTTP/1.1 204 No Content\r\n\r\n"};
}

void decode(unsigned kind, const std::byte* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!(read(text, kind + 1) == read(text, size))) fail("the pieces make a difference");
}

}  // namespace fuzz

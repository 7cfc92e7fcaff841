// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cppless::detail {

class http_connection;

struct http_header {
  std::string_view name;  ///< Lower case.
  std::string_view value;
  bool changes_always = false;  ///< Other in each request: not worth a place in HTTP/2's table.
};

/// Views belong to whoever made it.
struct http_request {
  std::string_view method;
  std::string_view path;
  std::span<const http_header> headers;  ///< Beside host and content-length, which are added.
  std::string_view body;
};

struct http_failure {
  enum class kind {
    unreachable,  ///< No connection could be made: the request was never sent.
    untrusted,    ///< The server is not the one it should be: its certificate was not accepted.
    lost,         ///< The connection ended before the answer: the server may have done the work.
    malformed,    ///< The answer is no HTTP, or too large. The same holds.
  };
  kind what;
  std::string message;
};

/// One request and its answer. Lives until `on_end` or `on_failure` was called, exactly one of them
/// once, or until it was abandoned. All members are called on the client's I/O thread, none of them
/// throws or calls the client back but to submit other exchanges.
class http_exchange {
 public:
  http_exchange() = default;
  http_exchange(const http_exchange&) = delete;
  http_exchange& operator=(const http_exchange&) = delete;

  /// The request, each time it is sent: more than once if the server did not look at it. The
  /// headers are taken at once; method, path and body must stay until the exchange has ended.
  virtual http_request prepare() = 0;

  virtual void on_status(unsigned status) = 0;
  virtual void on_header(std::string_view name, std::string_view value) = 0;
  /// False ends the exchange as malformed: too large.
  virtual bool on_body(std::string_view some) = 0;
  virtual void on_end() = 0;
  virtual void on_failure(const http_failure& failure) = 0;

 protected:
  ~http_exchange() = default;

 private:
  friend class exchange_list;
  friend class http_client;
  friend class http_connection;
  friend class http2_connection;
  friend class http1_connection;

  http_exchange* previous_ = nullptr;
  http_exchange* next_ = nullptr;
  http_connection* connection_ = nullptr;  ///< That it was given to; nullptr: waits in the client.
  std::int32_t stream_ = 0;                ///< HTTP/2: its number; 0: not sent yet.
  std::string_view body_;
  std::size_t sent_ = 0;                   ///< Bytes of the body handed over so far.
  std::uint8_t resends_ = 0;
  bool has_ended_ = false;                 ///< The answer is complete.
  bool has_status_ = false;
};

/// Exchanges in order; does not own them. An exchange is in one list at most.
class exchange_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  http_exchange* first() const noexcept { return first_; }
  static http_exchange* next(const http_exchange& of) noexcept { return of.next_; }

  void push_back(http_exchange& added) noexcept {
    added.previous_ = last_;
    added.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &added;
    last_ = &added;
    ++size_;
  }
  void push_front(http_exchange& added) noexcept {
    added.previous_ = nullptr;
    added.next_ = first_;
    (first_ != nullptr ? first_->previous_ : last_) = &added;
    first_ = &added;
    ++size_;
  }
  void remove(http_exchange& removed) noexcept {
    (removed.previous_ != nullptr ? removed.previous_->next_ : first_) = removed.next_;
    (removed.next_ != nullptr ? removed.next_->previous_ : last_) = removed.previous_;
    removed.previous_ = removed.next_ = nullptr;
    --size_;
  }
  http_exchange* pop_front() noexcept {
    http_exchange* const taken = first_;
    if (taken != nullptr) remove(*taken);
    return taken;
  }

 private:
  http_exchange* first_ = nullptr;
  http_exchange* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cppless::detail

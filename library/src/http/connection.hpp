// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "http/exchange.hpp"

namespace cppless::detail {

/// One connection, whatever its protocol. Belongs to the client, on whose I/O thread all happens.
class http_connection {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// What a connection tells its client. Exchanges named here are no longer the connection's.
  struct owner {
    virtual void on_finished(http_connection& from, http_exchange& exchange) = 0;
    virtual void on_failed(http_connection& from, http_exchange& exchange,
                           const http_failure& why) = 0;
    virtual void on_not_sent(http_connection& from, http_exchange& exchange) = 0;
    /// The server did not look at it, and said so: it may be sent again, whatever it asks for.
    virtual void on_refused(http_connection& from, http_exchange& exchange) = 0;
    /// It may now take more exchanges, or none any more.
    virtual void on_changed(http_connection& from) = 0;
    /// It has no exchange left and takes no more. The owner destroys it later, not within the call.
    virtual void on_closed(http_connection& from, const http_failure& why) = 0;

   protected:
    ~owner() = default;
  };

  virtual ~http_connection() = default;

  /// How many more exchanges it takes now.
  virtual std::size_t room() const = 0;
  /// How many it takes in all, as far as is known.
  virtual std::size_t limit() const = 0;
  /// Whether `limit` is the server's word and no longer a guess.
  virtual bool is_settled() const { return true; }
  virtual std::size_t in_flight() const = 0;

  /// Takes one; there must be room. Sent by the next `flush`.
  virtual void add(http_exchange& exchange) = 0;
  virtual void flush() = 0;

  /// Forgets one.
  virtual void abandon(http_exchange& exchange) = 0;

  /// Lets no more in, and closes once the last has ended.
  virtual void retire() = 0;

  /// Looks whether the peer is still there; to be called now and then.
  virtual void look_after(time_point now) = 0;

  time_point idle_since{};  ///< While in_flight() is 0.
  time_point born{};

 protected:
  static void set_connection(http_exchange& exchange, http_connection* to) noexcept {
    exchange.connection_ = to;
  }
};

}  // namespace cppless::detail

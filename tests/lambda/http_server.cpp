// SPDX-License-Identifier: Apache-2.0
#include "http_server.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>

#include <cstring>

#include "http_connection.hpp"

namespace test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

template <class Write>
std::string pem_of(Write write) {
  BIO* const out = ::BIO_new(::BIO_s_mem());
  write(out);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string text(data, static_cast<std::size_t>(size));
  ::BIO_free(out);
  return text;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void* has_http2) {
  static constexpr unsigned char both[] = "\2h2\10http/1.1";
  const bool only_http1 = has_http2 == nullptr;
  const unsigned char* const ours = only_http1 ? both + 3 : both;
  unsigned char* found = nullptr;
  const int result = ::SSL_select_next_proto(&found, size, ours, only_http1 ? 9 : 12, offered,
                                             offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

certificate make_certificate(const std::string& name) {
  EVP_PKEY* const key = ::EVP_EC_gen("P-256");
  X509* const made = ::X509_new();
  ::X509_set_version(made, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(made), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(made), 24 * 3600);
  ::X509_set_pubkey(made, key);
  X509_NAME* const subject = ::X509_get_subject_name(made);
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("cppless test"), -1, -1, 0);
  ::X509_set_issuer_name(made, subject);
  const bool is_address = std::isdigit(static_cast<unsigned char>(name.front())) != 0;
  const std::string names = (is_address ? "IP:" : "DNS:") + name;
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, names.c_str()},
                                  std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    ::X509_add_ext(made, extension, -1);
    ::X509_EXTENSION_free(extension);
  }
  ::X509_sign(made, key, ::EVP_sha256());
  certificate result{pem_of([&](BIO* out) { ::PEM_write_bio_X509(out, made); }), pem_of([&](BIO* out) {
                       ::PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
                     })};
  ::X509_free(made);
  ::EVP_PKEY_free(key);
  return result;
}

connection::connection(http_server& server, tcp::socket socket, std::uint64_t number)
    : server_(server), number_(number), stream_(std::move(socket), server.tls_) {}

void connection::start() {
  if (!is_tls()) return read();
  stream_.async_handshake(asio::ssl::stream_base::server,
                          [self = shared_from_this()](const error_code& error) {
                            if (error) return self->close();
                            self->read();
                          });
}

void connection::read() {
  const auto done = [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (error || self->is_closed_) return self->close();
    self->on_bytes({self->incoming_, size});
    if (!self->is_closed_) self->read();
  };
  if (is_tls()) {
    stream_.async_read_some(asio::buffer(incoming_), done);
  } else {
    stream_.next_layer().async_read_some(asio::buffer(incoming_), done);
  }
}

void connection::on_bytes(std::string_view bytes) {
  if (protocol_ == nullptr) {
    const bool is_http2 = server_.options_.has_http2 && bytes.starts_with("PRI");
    protocol_ = is_http2 ? protocol::make_http2(*this, server_.options_.most_streams)
                         : protocol::make_http1(*this);
  }
  protocol_->on_bytes(bytes);
}

void connection::send(std::string_view bytes) {
  waiting_ += bytes;
  if (is_writing_ || is_closed_ || waiting_.empty()) return;
  is_writing_ = true;
  writing_.swap(waiting_);
  waiting_.clear();
  const auto done = [self = shared_from_this()](const error_code& error, std::size_t) {
    self->is_writing_ = false;
    if (error || (self->closes_when_written_ && self->waiting_.empty())) return self->close();
    self->send({});
  };
  if (is_tls()) {
    asio::async_write(stream_, asio::buffer(writing_), done);
  } else {
    asio::async_write(stream_.next_layer(), asio::buffer(writing_), done);
  }
}

void connection::close_when_written() {
  closes_when_written_ = true;
  if (!is_writing_) close();
}

void connection::close() {
  if (std::exchange(is_closed_, true)) return;
  error_code ignored;
  if (!closes_when_written_) {
    stream_.next_layer().set_option(asio::socket_base::linger(true, 0), ignored);
  }
  stream_.next_layer().close(ignored);
  server_.open_.erase(shared_from_this());
}

void connection::take(request taken, std::function<void(const answer&)> respond) {
  if (is_closed_) return;
  taken.connection = number_;
  const auto work = asio::make_work_guard(server_.loop_);
  server_.answers_(taken, [self = shared_from_this(), respond, work](const answer& given) {
    // At once where it can be: what a fault says of later requests must be true.
    asio::dispatch(work.get_executor(), [self, respond, given] {
      if (self->is_closed_) return;
      if (given.delay.count() == 0) return respond(given);
      auto timer = std::make_shared<asio::steady_timer>(self->server_.loop_, given.delay);
      timer->async_wait([timer, self, respond, given](const error_code&) {
        if (!self->is_closed_) respond(given);
      });
    });
  });
}

http_server::http_server(in_this_thread, options chosen, handler answers)
    : options_(std::move(chosen)),
      answers_(std::move(answers)),
      tls_(asio::ssl::context::tls_server),
      acceptor_(loop_, tcp::endpoint(asio::ip::address_v4::loopback(), options_.port)) {
  port_ = acceptor_.local_endpoint().port();
  if (options_.tls) {
    tls_.use_certificate_chain(asio::buffer(options_.tls->pem));
    tls_.use_private_key(asio::buffer(options_.tls->key_pem), asio::ssl::context::pem);
    ::SSL_CTX_set_alpn_select_cb(tls_.native_handle(), &choose_protocol,
                                 options_.has_http2 ? &options_ : nullptr);
  }
  accept();
}

http_server::http_server(options chosen, handler answers)
    : http_server(in_this_thread{}, std::move(chosen), std::move(answers)) {
  thread_ = std::thread([this] { run(); });
}

http_server::http_server(handler answers) : http_server(options{}, std::move(answers)) {}

http_server::~http_server() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  while (!open_.empty()) (*open_.begin())->close();
}

void http_server::run() {
  const auto work = asio::make_work_guard(loop_);
  loop_.run();
}

std::string http_server::url() const {
  return (options_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

void http_server::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (error) return;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    auto made = std::make_shared<connection>(*this, std::move(socket), ++connections_);
    open_.insert(made);
    made->start();
    accept();
  });
}

}  // namespace test

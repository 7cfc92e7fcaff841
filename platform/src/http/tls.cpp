// SPDX-License-Identifier: Apache-2.0
#include "http/tls.hpp"

#include "state/file.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace platform::http {
namespace {

template <auto Free>
struct release {
  template <class T>
  void operator()(T* it) const {
    Free(it);
  }
};
using key_ptr = std::unique_ptr<EVP_PKEY, release<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, release<X509_free>>;

constexpr long years_10 = 60L * 60 * 24 * 3650;

void require(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(std::string("OpenSSL failed: ") + what);
}

void extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  require(made != nullptr, value);
  X509_add_ext(certificate, made, -1);
  X509_EXTENSION_free(made);
}

certificate_ptr make_certificate(EVP_PKEY* key, const char* name, X509* issuer, EVP_PKEY* issuer_key) {
  certificate_ptr made(X509_new());
  X509_set_version(made.get(), 2);
  std::uint64_t serial = 0;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "RAND_bytes");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), years_10);
  X509_set_pubkey(made.get(), key);
  X509_NAME* subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name),
                             -1, -1, 0);
  X509* signer = issuer ? issuer : made.get();
  X509_set_issuer_name(made.get(), X509_get_subject_name(signer));
  extend(made.get(), signer, NID_subject_key_identifier, "hash");
  if (issuer == nullptr) {
    extend(made.get(), signer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(made.get(), signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    extend(made.get(), signer, NID_authority_key_identifier, "keyid:always");
    extend(made.get(), signer, NID_basic_constraints, "critical,CA:FALSE");
    extend(made.get(), signer, NID_key_usage, "critical,digitalSignature");
    extend(made.get(), signer, NID_ext_key_usage, "serverAuth");
    extend(made.get(), signer, NID_subject_alt_name, "DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1");
  }
  require(X509_sign(made.get(), issuer_key, EVP_sha256()) > 0, "X509_sign");
  return made;
}

template <class Write>
std::string pem(Write write) {
  std::unique_ptr<BIO, release<BIO_free>> out(BIO_new(BIO_s_mem()));
  require(write(out.get()) == 1, "writing PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(EVP_PKEY* key) {
  return pem([&](BIO* out) { return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string pem_of(X509* certificate) {
  return pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                    unsigned in_length, void*) {
  static constexpr unsigned char ours[] = "\x02h2\x08http/1.1";
  if (SSL_select_next_proto(const_cast<unsigned char**>(out), out_length, ours, sizeof ours - 1, in,
                            in_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void ensure_certificates(const std::filesystem::path& directory) {
  if (std::filesystem::exists(directory / "server.pem") && std::filesystem::exists(directory / "ca.pem") &&
      std::filesystem::exists(directory / "server.key"))
    return;
  std::filesystem::create_directories(directory);
  // The authority's key is not kept: it signs once.
  key_ptr ca_key(EVP_EC_gen("P-256"));
  key_ptr key(EVP_EC_gen("P-256"));
  require(ca_key && key, "EVP_EC_gen");
  const auto ca = make_certificate(ca_key.get(), "cppless local platform CA", nullptr, ca_key.get());
  const auto server = make_certificate(key.get(), "localhost", ca.get(), ca_key.get());
  state::write_atomically(directory / "server.key", pem_of(key.get()), 0600);
  state::write_atomically(directory / "ca.pem", pem_of(ca.get()), 0644);
  state::write_atomically(directory / "server.pem", pem_of(server.get()) + pem_of(ca.get()), 0644);
}

boost::asio::ssl::context server_context(const std::filesystem::path& directory) {
  namespace ssl = boost::asio::ssl;
  ssl::context context(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.use_certificate_chain_file((directory / "server.pem").string());
  context.use_private_key_file((directory / "server.key").string(), ssl::context::pem);
  SSL_CTX_set_alpn_select_cb(context.native_handle(), choose_protocol, nullptr);
  return context;
}

}  // namespace platform::http

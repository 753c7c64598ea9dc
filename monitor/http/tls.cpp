#include "monitor/http/tls.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "config/base/error.hpp"

namespace rldp::monitor {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

void refuse_failed(error_code failed, const std::string& what) {
    if (failed) refuse(fmt::format("{} ({})", what, failed.message()));
}

void check_dates(const X509* certificate, const std::string& file) {
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0)
        refuse(file + ": the certificate has expired; make another (rldp key new --tls HOST)");
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        refuse(file + ": the certificate is not valid yet; look at this machine's clock");
}

}  // namespace

ssl::context tls_context(const tls_files& files) {
    ssl::context out(ssl::context::tls_server);
    out.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                    ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use);
    SSL_CTX_set_min_proto_version(out.native_handle(), TLS1_2_VERSION);
    error_code failed;
    out.use_certificate_chain_file(files.certificate.string(), failed);
    refuse_failed(failed, files.certificate.string() + ": can't be read as a PEM certificate");
    check_dates(SSL_CTX_get0_certificate(out.native_handle()), files.certificate.string());
    out.use_private_key_file(files.key.string(), ssl::context::pem, failed);
    // OpenSSL compares them when the key is loaded.
    if (failed && failed.message().find("mismatch") != std::string::npos)
        refuse(fmt::format("{}: is not the key of {}; name the two of one pair", files.key.string(),
                           files.certificate.string()));
    refuse_failed(failed, files.key.string() + ": can't be read as a PEM private key");
    if (SSL_CTX_check_private_key(out.native_handle()) != 1)
        refuse(fmt::format("{}: is not the key of {}; name the two of one pair", files.key.string(),
                           files.certificate.string()));
    if (files.client_authority) {
        out.load_verify_file(files.client_authority->string(), failed);
        refuse_failed(failed, files.client_authority->string() + ": can't be read as a PEM certificate");
        out.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    }
    return out;
}

}  // namespace rldp::monitor

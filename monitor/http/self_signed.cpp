#include "monitor/http/self_signed.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"

namespace rldp::monitor {

namespace fs = std::filesystem;

namespace {

constexpr long valid_seconds = 2L * 365 * 24 * 3600;

template <auto Free>
struct freed {
    template <class T>
    void operator()(T* what) const {
        Free(what);
    }
};
using key_handle = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY_free>>;
using certificate_handle = std::unique_ptr<X509, freed<X509_free>>;
using text_handle = std::unique_ptr<BIO, freed<BIO_free>>;
using extension_handle = std::unique_ptr<X509_EXTENSION, freed<X509_EXTENSION_free>>;

void check(bool done) {
    if (!done) throw error(errc::failed, "OpenSSL could not make a certificate");
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
           inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

bool is_name(const std::string& host) {
    return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    });
}

void add_extension(X509& to, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, &to, &to, nullptr, nullptr, 0);
    const extension_handle made(X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str()));
    check(made && X509_add_ext(&to, made.get(), -1) == 1);
}

certificate_handle make_x509(EVP_PKEY& key, const std::string& host) {
    certificate_handle out(X509_new());
    check(out && X509_set_version(out.get(), 2) == 1);  // which is version 3
    std::array<unsigned char, 16> serial{};
    randombytes_buf(serial.data(), serial.size());
    serial[0] &= 0x7F;  // positive
    const std::unique_ptr<BIGNUM, freed<BN_free>> number(BN_bin2bn(serial.data(), serial.size(), nullptr));
    check(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(out.get())) != nullptr);
    X509_gmtime_adj(X509_getm_notBefore(out.get()), -60);  // clocks differ
    X509_gmtime_adj(X509_getm_notAfter(out.get()), valid_seconds);
    auto* name = X509_get_subject_name(out.get());
    constexpr std::size_t longest_name = 64;  // of a common name, RFC 5280
    const auto common = host.substr(0, longest_name);
    check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common.c_str()),
                                     -1, -1, 0) == 1 &&
          X509_set_issuer_name(out.get(), name) == 1 && X509_set_pubkey(out.get(), &key) == 1);
    add_extension(*out, NID_subject_alt_name, (is_address(host) ? "IP:" : "DNS:") + host);
    add_extension(*out, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(*out, NID_key_usage, "critical,digitalSignature");
    add_extension(*out, NID_ext_key_usage, "serverAuth");
    check(X509_sign(out.get(), &key, EVP_sha256()) > 0);
    return out;
}

template <class Write>
std::string pem(Write write) {
    const text_handle to(BIO_new(BIO_s_mem()));
    check(to && write(to.get()) == 1);
    char* bytes = nullptr;
    const auto length = BIO_get_mem_data(to.get(), &bytes);
    return {bytes, static_cast<std::size_t>(length)};
}

std::string compute_fingerprint(const X509& certificate) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    check(X509_digest(&certificate, EVP_sha256(), digest.data(), &length) == 1);
    std::string out;
    for (unsigned int i = 0; i < length; ++i) out += fmt::format("{}{:02X}", i == 0 ? "" : ":", digest[i]);
    return out;
}

constexpr auto choose_another = "choose another name, or move it away";

fs::path with_ending(fs::path path, const char* ending) {
    path += ending;
    return path;
}

}  // namespace

std::string make_self_signed(const fs::path& path, const std::string& host) {
    if (!is_address(host) && !is_name(host))
        refuse(fmt::format("key new --tls: '{}' is neither a name nor an address of a host", host));
    const auto public_file = with_ending(path, ".pem"), secret_file = with_ending(path, ".key");
    refuse_existing_pair(secret_file, public_file, choose_another);
    const key_handle key(EVP_EC_gen("P-256"));
    check(key != nullptr);
    const auto certificate = make_x509(*key, host);
    auto secret = pem(
        [&](BIO* to) { return PEM_write_bio_PKCS8PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
    const std::shared_ptr<void> wiped(nullptr, [&](void*) { sodium_memzero(secret.data(), secret.size()); });
    write_pair(secret_file, secret, 0600, public_file,
               pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); }));
    return compute_fingerprint(*certificate);
}

void make_tokens(const fs::path& file) {
    if (fs::exists(fs::symlink_status(file))) refuse(file.string() + ": exists already; " + choose_another);
    const auto token = [] {
        std::array<unsigned char, 32> bits{};
        randombytes_buf(bits.data(), bits.size());
        std::array<char, 65> text{};
        sodium_bin2hex(text.data(), text.size(), bits.data(), bits.size());
        return std::string(text.data());
    };
    write_file(file, fmt::format("viewer {}\noperator {}\n", token(), token()), 0600);
}

}  // namespace rldp::monitor

#include "privacy/keys/signing_key.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/keys/secrets.hpp"

namespace rldp::privacy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view secret_word = "rldp-ed25519-secret ", public_word = "rldp-ed25519-public ";
constexpr std::size_t hex_length = 64;
constexpr std::size_t secret_length = secret_word.size() + hex_length + 1;  // with the newline
static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32);

/// Bytes between guard pages that are never swapped out.
template <class T>
std::unique_ptr<T, locked_memory> locked(std::size_t size) {
    start_sodium();
    std::unique_ptr<T, locked_memory> out(static_cast<T*>(sodium_malloc(size)));
    if (!out) throw error(errc::failed, "no locked memory for a signing key; raise the limit (ulimit -l)");
    return out;
}

}  // namespace

verifying_key verifying_key::from_hex(std::string_view hex) {
    verifying_key out;
    if (!detail::from_hex(hex, out.bytes_)) refuse("a public key has 64 lower-case hexadecimal characters");
    return out;
}

verifying_key verifying_key::load(const fs::path& path) {
    auto text = read_file(path);
    if (text.starts_with(secret_word)) {
        sodium_memzero(text.data(), text.size());
        refuse(path.string() + ": is a secret key; give its public half, which ends in .pub");
    }
    if (text.ends_with('\n')) text.pop_back();
    verifying_key out;
    if (!text.starts_with(public_word) ||
        !detail::from_hex(std::string_view(text).substr(public_word.size()), out.bytes_))
        refuse(path.string() + ": is no public key of rldp key new");
    return out;
}

std::string verifying_key::hex() const {
    std::array<char, hex_length + 1> out;
    return sodium_bin2hex(out.data(), out.size(), bytes_.data(), bytes_.size());
}

std::string verifying_key::fingerprint() const {
    const auto digest = sha256({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    std::string out;
    for (std::size_t at = 0; at < 32; at += 4) {
        if (at > 0) out += ' ';
        out += digest.substr(at, 4);
    }
    return out;
}

bool verifying_key::accepts(std::string_view message, std::string_view signature) const {
    std::array<unsigned char, crypto_sign_BYTES> bytes;
    return detail::from_hex(signature, bytes) &&
           crypto_sign_verify_detached(bytes.data(), reinterpret_cast<const unsigned char*>(message.data()),
                                       message.size(), bytes_.data()) == 0;
}

void locked_memory::operator()(void* bytes) const {
    sodium_free(bytes);
}

signing_key signing_key::create(const fs::path& path) {
    auto beside = path;
    beside += ".pub";
    detail::refuse_inside_run(path, "signing key");
    refuse_existing_pair(path, beside, "what an older key signed would have no one left to vouch for it");
    require_directory_of(path);

    signing_key out;
    out.secret_ = locked<unsigned char>(crypto_sign_SECRETKEYBYTES);
    crypto_sign_keypair(out.public_half_.bytes_.data(), out.secret_.get());
    // The seed is the first half of what libsodium calls the secret key.
    const auto text = locked<char>(secret_length + 1);
    std::memcpy(text.get(), secret_word.data(), secret_word.size());
    sodium_bin2hex(text.get() + secret_word.size(), hex_length + 1, out.secret_.get(), crypto_sign_SEEDBYTES);
    text.get()[secret_length - 1] = '\n';
    write_pair(path, {text.get(), secret_length}, 0600, beside,
               fmt::format("{}{}\n", public_word, out.public_half_.hex()));
    return out;
}

signing_key signing_key::load(const fs::path& path) {
    detail::refuse_inside_run(path, "signing key");
    const auto text = locked<char>(secret_length + 1);
    const std::string_view read(text.get(), detail::read_private(path, "signing key", text.get(), secret_length + 1));
    if (read.starts_with(public_word)) refuse(path.string() + ": is a public key; give its secret half, without .pub");
    const auto seed = locked<unsigned char>(crypto_sign_SEEDBYTES);
    if (read.size() != secret_length || !read.starts_with(secret_word) || !read.ends_with('\n') ||
        !detail::from_hex(read.substr(secret_word.size(), hex_length), {seed.get(), crypto_sign_SEEDBYTES}))
        refuse(path.string() + ": is no signing key; rldp key new makes one");
    signing_key out;
    out.secret_ = locked<unsigned char>(crypto_sign_SECRETKEYBYTES);
    crypto_sign_seed_keypair(out.public_half_.bytes_.data(), out.secret_.get(), seed.get());
    return out;
}

std::string signing_key::sign(std::string_view message) const {
    std::array<unsigned char, crypto_sign_BYTES> bytes;
    crypto_sign_detached(bytes.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                         secret_.get());
    std::array<char, 2 * crypto_sign_BYTES + 1> hex;
    return sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
}

}  // namespace rldp::privacy

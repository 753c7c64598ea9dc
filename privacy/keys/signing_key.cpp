#include "privacy/keys/signing_key.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <cstring>
#include <span>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/input_file.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/keys/locked.hpp"

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

bool from_hex(std::string_view hex, std::span<unsigned char> out) {
    std::size_t length = 0;
    const char* end = nullptr;
    return hex.size() == 2 * out.size() && hex.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           sodium_hex2bin(out.data(), out.size(), hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
           length == out.size();
}

/// A run directory is copied and handed on as a whole: no key may be in it, nor in a public side that stands alone.
void refuse_inside_run(const fs::path& path) {
    std::error_code ignored;
    const auto where = fs::weakly_canonical(fs::absolute(path), ignored);
    for (auto above = where.parent_path();; above = above.parent_path()) {
        if (fs::exists(above / "public/ledger.jsonl", ignored) || fs::exists(above / "ledger.jsonl", ignored))
            refuse(fmt::format(
                "{}: lies in the run directory {}, which is handed on as a whole; keep signing keys elsewhere",
                path.string(), above.string()));
        if (above == above.parent_path()) return;
    }
}

/// How many bytes there were, at most `room`, of a file that only its owner can read.
std::size_t read_private(const fs::path& path, char* into, std::size_t room) {
    input_file file(path);
    if ((file.permissions() & (S_IRWXG | S_IRWXO)) != 0)
        refuse(
            fmt::format("{0}: others can read this signing key (mode {1:04o}), so it may be theirs, too; make a new "
                        "one, or chmod 600 {0} if you are sure that nobody did",
                        path.string(), file.permissions()));
    return file.read(into, room);
}

}  // namespace

verifying_key verifying_key::from_hex(std::string_view hex) {
    verifying_key out;
    if (!privacy::from_hex(hex, out.bytes_)) refuse("a public key has 64 lower-case hexadecimal characters");
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
        !privacy::from_hex(std::string_view(text).substr(public_word.size()), out.bytes_))
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
    return privacy::from_hex(signature, bytes) &&
           crypto_sign_verify_detached(bytes.data(), reinterpret_cast<const unsigned char*>(message.data()),
                                       message.size(), bytes_.data()) == 0;
}

void locked_memory::operator()(void* bytes) const {
    sodium_free(bytes);
}

signing_key signing_key::create(const fs::path& path) {
    auto beside = path;
    beside += ".pub";
    refuse_inside_run(path);
    for (const auto& file : {path, beside})
        if (fs::exists(fs::symlink_status(file)))
            refuse(file.string() + ": exists already; what an older key signed would have no one left to vouch for it");
    if (const auto parent = fs::absolute(path).parent_path(); !fs::is_directory(parent))
        refuse(parent.string() + ": no such directory; make it, with mode 0700, and try again");

    signing_key out;
    out.secret_ = locked<unsigned char>(crypto_sign_SECRETKEYBYTES);
    crypto_sign_keypair(out.public_half_.bytes_.data(), out.secret_.get());
    // The seed is the first half of what libsodium calls the secret key.
    const auto text = locked<char>(secret_length + 1);
    std::memcpy(text.get(), secret_word.data(), secret_word.size());
    sodium_bin2hex(text.get() + secret_word.size(), hex_length + 1, out.secret_.get(), crypto_sign_SEEDBYTES);
    text.get()[secret_length - 1] = '\n';
    write_file(path, {text.get(), secret_length}, 0600);
    write_file(beside, fmt::format("{}{}\n", public_word, out.public_half_.hex()));
    return out;
}

signing_key signing_key::load(const fs::path& path) {
    refuse_inside_run(path);
    const auto text = locked<char>(secret_length + 1);
    const std::string_view read(text.get(), read_private(path, text.get(), secret_length + 1));
    if (read.starts_with(public_word)) refuse(path.string() + ": is a public key; give its secret half, without .pub");
    const auto seed = locked<unsigned char>(crypto_sign_SEEDBYTES);
    if (read.size() != secret_length || !read.starts_with(secret_word) || !read.ends_with('\n') ||
        !from_hex(read.substr(secret_word.size(), hex_length), {seed.get(), crypto_sign_SEEDBYTES}))
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

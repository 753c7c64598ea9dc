#include "privacy/keys/digest.hpp"

#include <sodium.h>

#include "base/error.hpp"

namespace rldp::privacy {

std::string sha256(std::string_view bytes) {
    sha256_bytes made;
    crypto_hash_sha256(made.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    return to_hex(made);
}

sha256_bytes sha256_from(std::string_view hex) {
    sha256_bytes out;
    std::size_t bytes = 0;
    const bool whole = sodium_hex2bin(out.data(), out.size(), hex.data(), hex.size(), nullptr, &bytes, nullptr) == 0;
    require(whole && bytes == out.size(), "no SHA-256 in hexadecimal");
    return out;
}

std::string to_hex(const sha256_bytes& value) {
    std::array<char, 2 * sha256_bytes().size() + 1> out;
    return sodium_bin2hex(out.data(), out.size(), value.data(), value.size());
}

}  // namespace rldp::privacy

#include "privacy/keys/digest.hpp"

#include <sodium.h>

#include <array>

namespace rldp::privacy {

std::string sha256(std::string_view bytes) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
    crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    std::array<char, 2 * digest.size() + 1> hex;
    return sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
}

}  // namespace rldp::privacy

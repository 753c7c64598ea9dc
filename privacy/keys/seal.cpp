#include "privacy/keys/seal.hpp"

#include <sodium.h>

#include <cstdint>

#include "privacy/keys/digest.hpp"

namespace rldp::privacy {

struct file_seal::stream::state {
    crypto_generichash_state hash;
};

file_seal::file_seal(const run_key& key) : key_(key.hmac("rldp file seal v1")) {}

file_seal file_seal::checksum(std::string_view depends_on) {
    return file_seal(sha256(depends_on));
}

file_seal::stream::stream(const file_seal& by, std::string_view kind) : state_(std::make_unique<state>()) {
    static_assert(bytes >= crypto_generichash_BYTES_MIN && 64 <= crypto_generichash_KEYBYTES_MAX);
    crypto_generichash_init(&state_->hash, reinterpret_cast<const unsigned char*>(by.key_.data()), by.key_.size(),
                            bytes);
    add(kind);
}

file_seal::stream::~stream() = default;
file_seal::stream::stream(stream&&) noexcept = default;

file_seal::stream& file_seal::stream::add(std::string_view part) {
    const std::uint64_t length = part.size();
    crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(&length), sizeof length);
    crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(part.data()), part.size());
    return *this;
}

file_seal::tag file_seal::stream::finish() {
    tag out;
    crypto_generichash_final(&state_->hash, out.data(), out.size());
    return out;
}

std::string file_seal::stream::hex() {
    const auto made = finish();
    std::array<char, 2 * bytes + 1> out;
    return sodium_bin2hex(out.data(), out.size(), made.data(), made.size());
}

}  // namespace rldp::privacy

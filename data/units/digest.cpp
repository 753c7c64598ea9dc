#include "data/units/digest.hpp"

#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>

namespace rldp::data {

text_digest compute_digest(std::string_view text) {
    text_digest out;
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                       nullptr, 0);
    return out;
}

struct units_digest::state {
    crypto_hash_sha256_state sum;
};

units_digest::units_digest() : state_(new state) {
    crypto_hash_sha256_init(&state_->sum);
}
units_digest::~units_digest() = default;

void units_digest::add_unit(std::size_t records) {
    const auto text = fmt::format("{}:", records);
    crypto_hash_sha256_update(&state_->sum, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

void units_digest::add_record(const text_digest& text) {
    crypto_hash_sha256_update(&state_->sum, text.data(), text.size());
}

std::string units_digest::finish() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> bytes;
    crypto_hash_sha256_final(&state_->sum, bytes.data());
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace rldp::data

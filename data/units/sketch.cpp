#include "data/units/sketch.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace rldp::data {

namespace {

unsigned compute_level(std::uint64_t hash) {
    return static_cast<unsigned>(std::countl_zero(hash));
}

}  // namespace

void identity_sample::add(std::string_view identity) {
    constexpr std::string_view label = "rldp sketch v1";
    std::array<unsigned char, crypto_generichash_BYTES_MIN> bytes;
    crypto_generichash(bytes.data(), bytes.size(), reinterpret_cast<const unsigned char*>(identity.data()),
                       identity.size(), reinterpret_cast<const unsigned char*>(label.data()), label.size());
    std::uint64_t hash = 0;
    std::memcpy(&hash, bytes.data(), sizeof hash);
    keep(hash);
}

void identity_sample::add(const identity_sample& other) {
    for (const auto hash : other.kept_) keep(hash);
    if (other.level_ <= level_) return;
    level_ = other.level_;  // below it the other has forgotten
    std::erase_if(kept_, [&](auto hash) { return compute_level(hash) < level_; });
}

void identity_sample::keep(std::uint64_t hash) {
    if (compute_level(hash) < level_) return;
    kept_.insert(hash);
    while (kept_.size() > unit_sketch::most) {
        ++level_;
        std::erase_if(kept_, [&](auto each) { return compute_level(each) < level_; });
    }
}

unit_sketch identity_sample::finish() const {
    unit_sketch out{.level = level_, .hashes = {kept_.begin(), kept_.end()}};
    std::sort(out.hashes.begin(), out.hashes.end());
    return out;
}

}  // namespace rldp::data

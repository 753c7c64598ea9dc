#pragma once
// Made-up bytes and numbers that are the same everywhere, and digests of what became of them.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace rldp::test {

/// Numerical Recipes' generator; its upper bits are used.
class made_up {
  public:
    explicit made_up(std::uint32_t seed) : word_(seed) {}
    std::uint32_t next() { return word_ = word_ * 1664525U + 1013904223U; }
    std::uint8_t byte() { return static_cast<std::uint8_t>(next() >> 24); }
    /// In [-1/4, 1/4), exact.
    float number() { return (static_cast<float>(next() >> 8) - 0x1p23F) / 0x1p25F; }

  private:
    std::uint32_t word_;
};

inline std::vector<float> make_numbers(std::size_t count, std::uint32_t seed) {
    made_up from(seed);
    std::vector<float> out(count);
    for (float& number : out) number = from.number();
    return out;
}

/// FNV-1a of 64 bits.
inline std::uint64_t digest(const void* bytes, std::size_t size) {
    std::uint64_t out = 0xcbf29ce484222325U;
    for (std::size_t i = 0; i < size; ++i) out = (out ^ static_cast<const std::uint8_t*>(bytes)[i]) * 0x100000001b3U;
    return out;
}

template <class Range>
std::uint64_t digest(const Range& values) {
    return digest(values.data(), values.size() * sizeof(*values.data()));
}

}  // namespace rldp::test

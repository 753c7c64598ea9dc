#pragma once
// SplitMix64 (Steele, Lea and Flood 2014): small, seeded by any word, and the same on every machine. For made-up tasks
// and searches, never for what privacy depends on.
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace rldp::rl {

class splitmix {
  public:
    explicit splitmix(std::uint64_t seed) : state_(seed) {}
    /// One stream of many under one seed.
    splitmix(std::uint64_t seed, std::uint64_t stream) : state_(splitmix(seed).next() ^ (stream * golden)) { next(); }

    std::uint64_t next() {
        std::uint64_t word = state_ += golden;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
        return word ^ (word >> 31);
    }
    /// In (0, 1), 53 bits.
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
    double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Between two positive numbers, evenly in the logarithm.
    double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
    /// One of `low`, …, `high`.
    std::int64_t integer(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
    }
    /// Standard normal (Box and Muller 1958).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
    /// Mean 0, variance 1, excess kurtosis −1/32: the bits of a word, counted, and a uniform number that fills the gaps
    /// between the counts. Ten times as fast as normal(), with the same bits on every machine.
    double near_normal() {
        constexpr double scale = 0.24935149;  // 1/√(16 + 1/12), of the count and of the uniform number
        const auto count = static_cast<double>(std::popcount(next()));
        return scale * (count - 32.5 + uniform());
    }

  private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
    std::uint64_t state_;
};

}  // namespace rldp::rl

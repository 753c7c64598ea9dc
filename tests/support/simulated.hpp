#pragma once
// Seeded draws for simulated attacks; std's distributions differ from library to library, these do not.
#include <cmath>
#include <numbers>
#include <random>

class draws {
  public:
    explicit draws(std::uint64_t seed) : words_(seed) {}

    double uniform() { return (static_cast<double>(words_() >> 11) + 0.5) * 0x1p-53; }
    bool coin(double probability) { return uniform() < probability; }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  private:
    std::mt19937_64 words_;
};

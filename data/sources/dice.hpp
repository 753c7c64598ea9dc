#pragma once
// Draws of the made-up tables.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp::data {

using choice = std::pair<std::string_view, double>;  ///< a value and its weight, which is positive or 0
using choices = std::vector<choice>;

/// Portable: the standard's distributions differ between libraries.
class dice {
  public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}

    double uniform() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }
    bool happens(double p) { return uniform() < p; }
    std::size_t index(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
    double exponential(double mean) { return -mean * std::log1p(-uniform()); }
    double normal() {
        const double radius = std::sqrt(exponential(2));  // a statement of its own: the order of draws is fixed
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

    std::size_t pick_index(const choices& from) {
        double total = 0;
        for (const auto& c : from) total += c.second;
        double at = uniform() * total;
        for (std::size_t i = 0; i < from.size(); ++i)
            if ((at -= from[i].second) < 0) return i;
        return from.size() - 1;
    }
    std::string_view pick(const choices& from) { return from[pick_index(from)].first; }

    static std::string count(double value, int low, int high) {
        return std::to_string(std::clamp(static_cast<int>(std::lround(value)), low, high));
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace rldp::data

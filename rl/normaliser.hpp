#pragma once
// Running mean and variance (Welford 1962) of what the controller has seen.
#include <cstdint>
#include <vector>

namespace rldp::rl {

class normaliser {
  public:
    explicit normaliser(std::size_t size) : mean_(size), m2_(size) {}

    /// Takes `values` into the statistics, then returns them with mean 0 and variance 1, each within ±10.
    std::vector<double> add(const std::vector<double>& values);

    struct state {
        std::vector<double> mean, m2;
        std::int64_t count = 0;
    };
    state snapshot() const { return {mean_, m2_, count_}; }
    void restore(const state& from);

  private:
    std::vector<double> mean_, m2_;  ///< m2: sum of squared deviations from the mean
    std::int64_t count_ = 0;
};

}  // namespace rldp::rl

#pragma once
// What a run's metrics lines tell over its steps.
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "eval/metrics/quantities.hpp"
#include "monitor/watch/curve.hpp"

namespace rldp::monitor {

class history {
  public:
    void add(const eval::metrics_line& line);

    const curve& of(eval::quantity which) const { return curves_[static_cast<std::size_t>(which)]; }
    std::int64_t last_step() const { return last_step_; }
    bool empty() const { return last_step_ < 0; }

    /// Steps made at this noise multiplier, of at most 256 different ones.
    std::int64_t steps_at(double noise_multiplier) const;

    /// Of every adapter, from this step on.
    struct snapshot {
        std::int64_t step = 0;
        std::vector<float> radii;
        std::vector<float> rates, shares;  ///< of a prepared controller; empty without
    };
    static constexpr std::size_t most_snapshots = 512;
    /// Where anything changed, thinned to at most most_snapshots; the last is always the latest.
    const std::vector<snapshot>& snapshots() const { return snapshots_; }

  private:
    void note(snapshot now);
    void count(const eval::metrics_line& line);

    std::array<curve, eval::quantities.size()> curves_;  ///< in their order
    std::vector<snapshot> snapshots_;
    std::map<double, std::int64_t> steps_at_;
    std::int64_t last_counted_ = 0;
    std::int64_t last_step_ = -1;
};

}  // namespace rldp::monitor

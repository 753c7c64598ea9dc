#pragma once
// What a run's metrics lines tell over its steps, in bounded memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "run/artifacts/quantities.hpp"

namespace rldp::monitor {

// Curves. A number over the steps of a run, in bounded memory, and as few of its points as a figure can show.

struct point {
    std::int64_t step = 0;
    double value = 0;
};

class curve {
  public:
    /// Points that a curve keeps at most; beyond, it is thinned to half of them.
    static constexpr std::size_t most_points = 1U << 18U;

    /// A step that came before is replaced; values that are not finite are left out.
    void add(point what);
    std::optional<point> last() const;
    const std::vector<point>& points() const { return points_; }

    /// Those with a step in [from, to], at most `most` of them, at least 4: of each of `most`/4 equal spans of steps
    /// the first, the least, the greatest and the last, so that a line through them has the ends and the extremes of
    /// the whole (M4; Jugel et al. 2014, "M4: A Visualization-Oriented Time Series Data Aggregation").
    std::vector<point> thinned(std::int64_t from, std::int64_t to, std::size_t most) const;

  private:
    std::vector<point> points_;  ///< by step
};

// History. What a run's metrics lines tell over its steps.

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
        std::vector<float> rates;  ///< of a prepared controller; empty without
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

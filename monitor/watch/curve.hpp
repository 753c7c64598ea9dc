#pragma once
// A number over the steps of a run, in bounded memory, and as few of its points as a figure can show.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rldp::monitor {

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

}  // namespace rldp::monitor

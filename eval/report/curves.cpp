#include "eval/report/curves.hpp"

#include <algorithm>
#include <cmath>

namespace rldp::eval {

curve changes(const curve& points) {
    curve kept;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (i == 0 || i + 1 == points.size() || points[i].second != points[i - 1].second) kept.push_back(points[i]);
    return kept;
}

curve thinned(const curve& points, std::size_t most) {
    if (points.size() <= most) return points;
    curve kept;
    for (std::size_t i = 1; i <= most; ++i) kept.push_back(points[i * points.size() / most - 1]);
    return kept;
}

bool spans_decades(const std::vector<series>& lines) {
    double low = INFINITY, high = 0;
    for (const auto& line : lines)
        for (const auto& point : line.points) low = std::min(low, point.second), high = std::max(high, point.second);
    return low > 0 && high > 20 * low;
}

void drop_empty(std::vector<series>& lines) {
    lines.erase(std::remove_if(lines.begin(), lines.end(), [](const auto& line) { return line.points.empty(); }),
                lines.end());
}

}  // namespace rldp::eval

#pragma once
// Line charts as inline SVG, drawn by gnuplot.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rldp::eval {

using curve = std::vector<std::pair<double, double>>;

/// How a series is drawn. What was measured is a marked line: its points are marked where there are few of them, for
/// between two of them nothing was measured. Steps hold their value until the next point; a bar stands on the figure's
/// bottom. Whatever it is drawn as, a single point is seen.
enum class mark { line, dashed, marked_line, marked_dashed, dots, steps, thin_steps, bar };

struct series {
    std::string label;  ///< in the legend; empty: not there
    mark how = mark::line;
    std::string colour;  ///< #rrggbb, legible on white and on black
    curve points;        ///< one that is not finite is left out, and breaks the line
};

struct figure {
    std::string id;  ///< letters only, unique within the page
    std::string title, x_label, y_label;
    std::vector<series> lines;
    std::pair<double, double> x_range;
    std::optional<std::pair<double, double>> y_range;  ///< default: what the points need
    bool log_y = false;
    std::vector<std::string> names = {};  ///< at x = 0, 1, …, in place of numbers
};

/// An <svg> element that takes the page's text colour, or nothing where gnuplot is not installed (or fails).
std::optional<std::string> draw(const figure& what);

}  // namespace rldp::eval

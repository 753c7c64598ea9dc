#pragma once
// Pages: their line charts, what the figures of a run's report say, and what all our pages have in common.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/artifacts/summary.hpp"

namespace rldp::eval {

// Figures. Line charts as inline SVG, drawn by gnuplot.

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

// Curves. Points made fit to be drawn.

/// Only the points where the value changes, and the last: what an action sets stands still between decisions.
curve changes(const curve& points);
/// At most `most` points, evenly chosen, the last one among them.
curve thinned(const curve& points, std::size_t most);
/// Whether a linear axis would flatten the smaller values.
bool spans_decades(const std::vector<series>& lines);
/// A series without points would be a gnuplot error.
void drop_empty(std::vector<series>& lines);
/// #rrggbb, from twenty in turn, legible on white, on black and, by their order, in grey.
std::string nth_colour(std::size_t number);
/// a, b, …, z, ab, …: for ids, which are letters only.
std::string nth_letter(std::size_t number);

// The report's figures. Which ones it shows, and what each of them says.

struct captioned {
    figure drawing;       ///< without a point to show, the page says so instead
    std::string caption;  ///< HTML
    bool empty() const;
};

/// Evaluation perplexity, released loss, clip radii, noise multiplier, ε: over steps, always all five, in this order;
/// then the deck left, where the run has one.
std::vector<captioned> report_figures(const run_summary& summary, const std::vector<metrics_line>& metrics);

// Pages. What all of ours have in common: self-contained HTML, readable in print, no network, no script.

/// A whole page. `body` is HTML, `title` text.
std::string page(const std::string& title, const std::string& body);
/// One that fits a screen of 1280 × 800.
std::string one_screen(const std::string& title, const std::string& body);

/// The figures side by side, or a note where gnuplot could not be run; `data_is_in` is HTML, where the numbers are
/// instead.
std::string figures(const std::vector<captioned>& all, const std::string& data_is_in);

}  // namespace rldp::eval

#include "eval/tables/report/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {

namespace {

constexpr auto made_up_colour = "#d9822b", real_colour = "#2f7ed8";

/// No longer than `most` characters.
std::string shortened(const std::string& name, std::size_t most) {
    std::string out;
    std::string_view rest = name;
    for (std::size_t i = 0; i < most && !rest.empty(); ++i) {
        const auto length = std::max<std::size_t>(1, utf8_length(rest));
        out += rest.substr(0, length);
        rest.remove_prefix(length);
    }
    return rest.empty() ? out : out + "…";
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text, double size,
                    const std::string& more = "") {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:.1f}\" fill=\"currentColor\"{}>{}</text>", x,
        y, anchor, size, more, escaped(shown_text(text)));
}

/// Without a sign before 0.
std::string hundredths(double value) {
    return fmt::format("{:.2f}", std::round(100 * value) / 100 + 0.0);
}

std::string begin_svg(const std::string& id, double width, double height) {
    return fmt::format(
        "<svg role=\"img\" aria-labelledby=\"{}_title\" viewBox=\"0 0 {:.0f} {:.0f}\" "
        "font-family=\"system-ui,sans-serif\">",
        id, width, height);
}

}  // namespace

std::string heat_map(const std::string& id, const std::string& title, const std::vector<std::string>& names,
                     const association& values) {
    const auto count = static_cast<double>(names.size());
    const double side = 300, cell = side / count, size = std::clamp(0.62 * cell, 4.0, 13.0);
    std::size_t longest = 0;
    for (const auto& name : names) longest = std::max(longest, std::min<std::size_t>(name.size(), 14));
    const double label = 12 + 0.62 * size * static_cast<double>(longest);
    auto out = fmt::format("<figure id=\"figure_{0}\"><h3 id=\"{0}_title\">{1}</h3>\n", id, escaped(title)) +
               begin_svg(id, label + side, label + side);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double at = (static_cast<double>(i) + 0.5) * cell;
        const auto name = shortened(names[i], 13);
        out += text_at(label - 5, label + at + size / 3, "end", name, size);
        out += text_at(
            0, 0, "start", name, size,
            fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-55)\"", label + at + size / 3, label - 5));
        for (std::size_t j = 0; j < names.size(); ++j) {
            const auto& value = values[i][j];
            const double x = label + static_cast<double>(j) * cell, y = label + static_cast<double>(i) * cell;
            const auto place = fmt::format("x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", x, y,
                                           0.96 * cell, 0.96 * cell);
            if (!value) {
                out += fmt::format("<rect {} fill=\"currentColor\" fill-opacity=\"0.05\"/>", place);
                continue;
            }
            out += fmt::format("<rect {} fill=\"{}\" fill-opacity=\"{:.3f}\"><title>{}, {}: {}</title></rect>", place,
                               *value < 0 ? made_up_colour : real_colour, 0.04 + 0.96 * std::min(1.0, std::abs(*value)),
                               escaped(shown_text(names[i])), escaped(shown_text(names[j])), hundredths(*value));
            if (names.size() <= 12)
                out += text_at(x + cell / 2, y + cell / 2 + size / 4, "middle", hundredths(*value), 0.75 * size);
        }
    }
    return out + "</svg></figure>\n";
}

std::string bars(const std::string& id, const column_quality& of) {
    double most = 0;
    for (const auto& one : of.bins) most = std::max({most, one.share.made_up, one.share.real});
    constexpr double label = 128, width = 250, row = 22, tail = 74;
    auto out =
        fmt::format("<figure id=\"figure_{0}\"><h3 id=\"{0}_title\">{1}</h3>\n", id, escaped(shown_text(of.name))) +
        begin_svg(id, label + width + tail, row * static_cast<double>(of.bins.size()) + 2);
    double y = 0;
    for (const auto& one : of.bins) {
        out += text_at(label - 6, y + 14, "end", shortened(one.name, 18), 12);
        const auto bar = [&](double top, double share, const char* colour) {
            out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"8\" fill=\"{}\"/>", label, top,
                               most > 0 ? width * share / most : 0, colour);
        };
        bar(y + 2, one.share.real, real_colour);
        bar(y + 10.5, one.share.made_up, made_up_colour);
        out += text_at(label + width + 6, y + 14, "start",
                       fmt::format("{:.1f} | {:.1f}", 100 * one.share.real, 100 * one.share.made_up), 11);
        y += row;
    }
    return out + "</svg></figure>\n";
}

}  // namespace rldp::eval

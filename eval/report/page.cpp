#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/temporary_directory.hpp"
#include "eval/report/page.hpp"
#include "eval/report/style.hpp"
#include "run/artifacts/formatting.hpp"

extern char** environ;

namespace rldp::eval {
namespace {

// Single quotes: nothing is interpreted but the quote itself, which is doubled.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += '\'';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + "'";
}

std::string style(const series& one) {
    constexpr std::ptrdiff_t few = 24;
    const auto count = std::count_if(one.points.begin(), one.points.end(), [](const auto& point) {
        return std::isfinite(point.first) && std::isfinite(point.second);
    });
    const auto* dashes = one.how == mark::dashed || one.how == mark::marked_dashed ? " dt (7,5)" : "";
    const bool measured = one.how == mark::marked_line || one.how == mark::marked_dashed;
    if (one.how != mark::bar && one.how != mark::dots && (count == 1 || (measured && count <= few)))
        return fmt::format("with linespoints lw 1.6{} pt 7 ps 0.8 lc rgb '{}'", dashes, one.colour);
    switch (one.how) {
        case mark::line:
        case mark::marked_line:
            return fmt::format("with lines lw 2.2 lc rgb '{}'", one.colour);
        case mark::dashed:
        case mark::marked_dashed:
            return fmt::format("with lines lw 1.6{} lc rgb '{}'", dashes, one.colour);
        case mark::dots:
            return fmt::format("with points pt 7 ps 0.22 lc rgb '{}'", one.colour);
        case mark::steps:
            return fmt::format("with steps lw 2.2 lc rgb '{}'", one.colour);
        case mark::thin_steps:
            return fmt::format("with steps lw 0.8 lc rgb '{}'", one.colour);
        case mark::bar:
            return fmt::format("with boxes fs solid 0.85 noborder lc rgb '{}'", one.colour);
    }
    bug("a mark that nothing draws");
}

std::string script_for(const figure& what, const std::filesystem::path& output) {
    std::string script = fmt::format(
        "set terminal svg size 560,340 dynamic noenhanced font 'system-ui,sans-serif,13' name '{}'\n"
        "set output {}\n"
        "set border 3 lw 0.8\nset tics nomirror out scale 0.6\nset grid ytics lt 1 lw 0.4 lc rgb '#999999'\n"
        "set key outside top left horizontal Left reverse samplen 1.6 spacing 1.1 width 1 maxrows 1\n"
        "set xlabel {}\nset ylabel {} offset 0.5,0\nset xrange [{}:{}]\n",
        what.id, quoted(output.string()), quoted(what.x_label), quoted(what.y_label), what.x_range.first,
        what.x_range.second);
    if (what.y_range) script += fmt::format("set yrange [{}:{}]\n", what.y_range->first, what.y_range->second);
    for (std::size_t i = 0; i < what.names.size(); ++i)
        script += fmt::format("{}{} {}{}", i == 0 ? "set boxwidth 0.7\nset xtics rotate by 35 right (" : ", ",
                              quoted(what.names[i]), i, i + 1 == what.names.size() ? ")\n" : "");
    if (what.log_y) script += "set logscale y\nset format y '%g'\n";
    std::string plots;
    for (std::size_t i = 0; i < what.lines.size(); ++i) {
        const auto& one = what.lines[i];
        script += fmt::format("$d{} << END\n", i);
        for (const auto& [x, y] : one.points)
            script += std::isfinite(x) && std::isfinite(y) ? fmt::format("{} {}\n", x, y) : "\n";
        script += "END\n";
        plots += fmt::format("{}$d{} using 1:2 {} {}", i == 0 ? "" : ", ", i, style(one),
                             one.label.empty() ? "notitle" : "title " + quoted(one.label));
    }
    return script + "plot " + plots + "\n";
}

// Whether gnuplot ran and was content. It reads no settings of the user's (-d) and its warnings are nobody's concern.
bool run_gnuplot(const std::filesystem::path& script) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = "gnuplot", defaults = "-d", file = script.string();
    char* arguments[] = {name.data(), defaults.data(), file.data(), nullptr};
    pid_t child = 0;
    const bool started = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (!started) return false;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// Tooltips that only repeat an id.
void drop_titles(std::string& svg) {
    for (auto at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at))
        svg.erase(at, svg.find("</title>", at) + 8 - at);
}

// gnuplot's file as an element of the page: its text and axes in the page's colour, its ids unique between figures.
std::string inlined(std::string svg, const figure& what) {
    svg.erase(0, svg.find("<svg"));
    drop_titles(svg);
    for (const char* fixed : {" color=\"black\"", " color=\"white\""}) replace_all(svg, fixed, "");
    replace_all(svg, "\"black\"", "\"currentColor\"");
    replace_all(svg, "'black'", "'currentColor'");
    for (const char* reference : {" id='", " id=\"", "href='#", "href=\"#"})
        replace_all(svg, reference, reference + what.id + "_");
    replace_all(svg, "id=\"" + what.id + "_" + what.id + "_",
                "id=\"" + what.id + "_");  // gnuplot's own prefix of plots
    svg.replace(0, 4, fmt::format("<svg role=\"img\" aria-labelledby=\"{}_title\"", what.id));
    return svg;
}

}  // namespace

std::optional<std::string> draw(const figure& what) try {
    const temporary_directory beside;
    const auto script = beside.path() / "figure.gp", picture = beside.path() / "figure.svg";
    std::ofstream(script) << script_for(what, picture);
    if (!run_gnuplot(script)) return std::nullopt;
    std::ostringstream svg;
    svg << std::ifstream(picture).rdbuf();
    // gnuplot stops in the middle of a file on a full disk
    if (svg.str().find("<svg") == std::string::npos || svg.str().find("</svg>") == std::string::npos)
        return std::nullopt;
    return inlined(svg.str(), what);
} catch (const storage_error&) {
    return std::nullopt;
}

std::string nth_colour(std::size_t number) {
    constexpr std::array all = {"#8a93a0", "#2f7ed8", "#4f9d4f", "#b07aa1", "#17a2a2", "#8c6bb1", "#c98a00",
                                "#7a8f2a", "#e377a2", "#b03060", "#a0785a", "#d43f3a", "#d9822b", "#5b6ee1",
                                "#3c8d6e", "#c2549d", "#9a7d0a", "#00798c", "#b5654a", "#70798a"};
    return all[number % all.size()];
}

std::string nth_letter(std::size_t number) {
    std::string out;
    for (; number >= 26; number /= 26) out += static_cast<char>('a' + number % 26);
    return out + static_cast<char>('a' + number);
}

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

namespace {

std::string document(const std::string& title, const std::string& main) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        // nothing from outside, no script: the page is what it is
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<title>" +
        escaped(title) + "</title>\n<style>";
    out += embedded::look;
    out += report_style;
    return out + "</style></head>\n<body>" + main + "</main></body></html>\n";
}

}  // namespace

std::string page(const std::string& title, const std::string& body) {
    return document(title, "<main>\n" + body);
}

std::string one_screen(const std::string& title, const std::string& body) {
    return document(title, "<main class=\"screen\">\n" + body);
}

std::string figures(const std::vector<captioned>& all, const std::string& data_is_in) {
    std::string out = "<div class=\"figures\">\n";
    for (const auto& one : all) {
        std::string picture = "<p class=\"sub\">No values were recorded.</p>";
        if (!one.empty()) {
            const auto svg = draw(one.drawing);
            if (!svg)  // the same for every other figure
                return "<p class=\"note\">The figures are missing because gnuplot could not be run. " + data_is_in +
                       "; install gnuplot (Debian: gnuplot-nox) and the next report will show them.</p>\n";
            picture = *svg;
        }
        out += fmt::format(
            "<figure id=\"figure_{0}\"><h3 id=\"{0}_title\">{1}</h3>\n{2}<figcaption>{3}</figcaption></figure>\n",
            one.drawing.id, escaped(one.drawing.title), picture, one.caption);
    }
    return out + "</div>\n";
}

}  // namespace rldp::eval

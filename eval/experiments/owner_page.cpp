#include "eval/experiments/owner_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.hpp"
#include "eval/experiments/results.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;
using cells_of_row = std::vector<std::string>;

/// Cells that differ by their seed only.
struct group {
    std::string name;
    std::vector<const owned*> cells;
};

std::string name_of(const cell& one) {
    std::string out;
    for (const auto& [axis, value] : one.at)
        if (axis != "seed" && axis != "tune_seed") out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis, value);
    return out.empty() ? one.id : out;
}

// Those of which a process was ever started, in the order of the grid.
std::vector<group> list_groups(const std::vector<owned>& cells) {
    std::vector<group> out;
    for (const auto& one : cells) {
        if (one.known.history.starts == 0) continue;
        const auto name = name_of(one.where);
        auto home = std::find_if(out.begin(), out.end(), [&](const auto& known) { return known.name == name; });
        if (home == out.end()) home = out.insert(out.end(), {name, {}});
        home->cells.push_back(&one);
    }
    return out;
}

statistic summarise_attack(const group& of, const std::string& name) {
    std::vector<double> values;
    for (const auto* one : of.cells)
        if (const auto found = one->known.attacks.find(name); found != one->known.attacks.end())
            values.push_back(found->second);
    return compute_statistic(values);
}

// A row per attack and a column per group would not fit a page; the other way round it does for any grid.
std::string attacks_table(const std::vector<group>& groups) {
    cells_of_row head = {"cells"};
    for (const std::string name : attack_figures)
        if (std::any_of(groups.begin(), groups.end(),
                        [&](const auto& one) { return summarise_attack(one, name).n > 0; }))
            head.push_back(name);
    if (head.size() == 1) return "<p>No cell has been attacked; --audit does it.</p>\n";
    std::vector<cells_of_row> lines;
    for (const auto& one : groups) {
        cells_of_row next = {escaped(one.name)};
        for (std::size_t i = 1; i < head.size(); ++i) next.push_back(in_words(summarise_attack(one, head[i])));
        if (std::any_of(next.begin() + 1, next.end(), [](const auto& text) { return text != "–"; }))
            lines.push_back(std::move(next));
    }
    return html_table("What each cell's audit found: mean ± deviation over seeds", head, lines) +
           "<p>What a figure means stands in the cell's own page, "
           "<code>cells/…/trusted/audit/audit.html</code>.</p>\n";
}

std::string times_table(const std::vector<group>& groups) {
    std::vector<cells_of_row> lines;
    for (const auto& one : groups) {
        std::vector<double> seconds;
        int starts = 0;
        for (const auto* each : one.cells) {
            seconds.push_back(each->known.history.seconds);
            starts += each->known.history.starts;
        }
        lines.push_back({escaped(one.name), in_words(compute_statistic(seconds)), std::to_string(starts)});
    }
    return html_table("Wall time of a cell and its attacks, seconds: mean ± deviation over seeds",
                      {"cells", "seconds", "processes started"}, lines);
}

std::string failures(const std::vector<owned>& cells) {
    std::string out;
    for (const auto& [where, known] : cells)
        if (!known.failure.empty())
            out += fmt::format("<h3>{}</h3><pre>{}</pre>\n", escaped(where.id), escaped(known.failure));
    return out.empty() ? out : "<h2>Cells that failed</h2>\n" + out;
}

}  // namespace

std::vector<owned> read_owned(const std::filesystem::path& out, const std::vector<cell>& cells) {
    std::vector<owned> all;
    for (const auto& one : cells) all.push_back({one, read_secrets({out, one.id})});
    return all;
}

std::string owner_json(const std::vector<owned>& cells) {
    json out = {{"kind", "owner"}, {"cells", json::array()}};
    for (const auto& [where, known] : cells) {
        json one = {{"id", where.id},
                    {"values", where.at},
                    {"seconds", known.history.seconds},
                    {"starts", known.history.starts}};
        if (!known.failure.empty()) one["failure"] = known.failure;
        for (const auto& [name, value] : known.attacks) one["attacks"][name] = json_number(value);
        out["cells"].push_back(std::move(one));
    }
    // A log may hold bytes that are not UTF-8.
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string owner_html(const std::vector<owned>& cells) {
    const auto groups = list_groups(cells);
    const std::string title = "For the owner of the data only";
    auto body = "<header><h1>" + title + "</h1></header>\n";
    body +=
        "<p class=\"note bad\">Do not pass this page on. Attacks read training units, times follow the size of the "
        "draws, and a log may name a record: no cell's contract covers any of it.</p>\n";
    body += "<h2>Attacks</h2>\n" + attacks_table(groups);
    body += "<h2>Time</h2>\n" + times_table(groups) + failures(cells);
    return page(title, body);
}

void write_owner_files(const std::filesystem::path& out, const std::vector<owned>& cells) {
    const grid_directory place{out};
    write_file(place.owner_json(), owner_json(cells));
    write_file(place.owner_page(), owner_html(cells));
}

}  // namespace rldp::eval

#include <fmt/format.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "monitor/http/api.hpp"
#include "monitor/view/run_view.hpp"

namespace rldp::embedded {
extern const std::string_view page_index, page_style, page_d3, page_charts, page_app, page_api;
}

namespace rldp::monitor {

namespace {
constexpr int gzip_window = 15 + 16;  // of gzip's format, says zlib.h
}

const page_part* page_file(std::string_view path) {
    static const std::map<std::string_view, page_part> all = {
        {"/", {"text/html; charset=utf-8", embedded::page_index}},
        {"/app.css", {"text/css; charset=utf-8", embedded::page_style}},
        {"/d3.js", {"text/javascript; charset=utf-8", embedded::page_d3}},
        {"/charts.js", {"text/javascript; charset=utf-8", embedded::page_charts}},
        {"/app.js", {"text/javascript; charset=utf-8", embedded::page_app}}};
    const auto found = all.find(path);
    return found == all.end() ? nullptr : &found->second;
}

std::string api_description() {
    return unpacked(embedded::page_api);
}

std::string packed(std::string_view text) {
    z_stream from{};
    constexpr int memory = 8;  // zlib's default
    require(deflateInit2(&from, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) == Z_OK,
            "zlib can't begin");
    std::string out(deflateBound(&from, text.size()), '\0');
    from.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    from.avail_in = static_cast<uInt>(text.size());
    from.next_out = reinterpret_cast<Bytef*>(out.data());
    from.avail_out = static_cast<uInt>(out.size());
    const int state = deflate(&from, Z_FINISH);
    out.resize(from.total_out);
    deflateEnd(&from);
    require(state == Z_STREAM_END, "zlib did not come to an end");
    return out;
}

std::string unpacked(std::string_view gzip) {
    z_stream from{};
    require(inflateInit2(&from, gzip_window) == Z_OK, "zlib can't begin");
    from.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
    from.avail_in = static_cast<uInt>(gzip.size());
    std::string out;
    std::array<char, 1U << 16U> piece;
    int state = Z_OK;
    while (state == Z_OK) {
        from.next_out = reinterpret_cast<Bytef*>(piece.data());
        from.avail_out = static_cast<uInt>(piece.size());
        state = inflate(&from, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - from.avail_out);
    }
    inflateEnd(&from);
    require(state == Z_STREAM_END, "a part of the page is damaged");
    return out;
}

namespace {

using json = nlohmann::ordered_json;

/// A browser's JSON has no NaN.
json number(double value) {
    if (std::isfinite(value)) return value;
    return nullptr;
}

json contract(const contract_view& promised) {
    return {{"any", promised.any},
            {"headline", promised.headline},
            {"holds", promised.holds},
            {"does_not", promised.does_not},
            {"epsilon", number(promised.epsilon_budget)},
            {"delta", number(promised.delta)},
            {"guaranteed_epsilon", number(promised.epsilon_guaranteed)},
            {"unit", promised.unit},
            {"policy", promised.policy},
            {"accountant", promised.accountant}};
}

json points(const std::vector<point>& all) {
    auto out = json::array();
    for (const auto& one : all) out.push_back({one.step, one.value});
    return out;
}

/// By their cells' names.
std::map<std::string, const run_view*> list_runs(const grid_view& grid, const catalog& all) {
    const auto below = grid.name + "/cells/";
    std::map<std::string, const run_view*> out;
    for (const auto& one : all.runs())
        if (one->view().name.starts_with(below)) out.emplace(one->view().name.substr(below.size()), &one->view());
    return out;
}

json brief(const grid_view& grid, const catalog& all) {
    std::map<std::string, std::string> states;
    for (const auto& [name, run] : list_runs(grid, all)) states.emplace(name, run->state);
    for (const auto& one : grid.cells) states[one.name] = one.state;
    std::map<std::string, int> count;
    for (const auto& [name, state] : states) ++count[state];
    json out = {
        {"id", grid.id},         {"name", grid.name},         {"kind", grid.kind},          {"cells", states.size()},
        {"done", count["done"]}, {"failed", count["failed"]}, {"running", count["running"]}};
    if (!grid.problem.empty()) out["problem"] = grid.problem;
    return out;
}

/// Four digits, more than a colour shows.
json rounded(const std::vector<float>& values) {
    auto out = json::array();
    for (const float value : values) out.push_back(number(std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr)));
    return out;
}

/// As many snapshots as a heat map has room for, evenly, with the first and the last.
std::vector<const history::snapshot*> choose_snapshots(const history& past) {
    constexpr std::size_t most = 128;
    const auto& all = past.snapshots();
    const auto count = std::min(all.size(), most);
    std::vector<const history::snapshot*> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(&all[count > 1 ? i * (all.size() - 1) / (count - 1) : 0]);
    return out;
}

/// Texts may come from files that are not UTF-8.
std::string text(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string label(const std::string& value) {
    std::string out;
    for (const char c : shown_text(value)) {
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

std::string runs_json(const catalog& all, const std::string& program_version) {
    json out = {{"program", program_version}, {"version", all.version()}, {"runs", json::array()}};
    for (const auto& one : all.runs()) out["runs"].push_back(to_json(one->view()));
    auto& grids = out["grids"] = json::array();
    for (const auto& one : all.grids()) grids.push_back(brief(one->view(), all));
    return text(out);
}

std::string grid_json(const grid_view& grid, const catalog& all) {
    json out = {{"id", grid.id}, {"name", grid.name}, {"kind", grid.kind}};
    if (!grid.problem.empty()) out["problem"] = grid.problem;
    auto& cells = out["cells"] = json::array();
    const auto runs = list_runs(grid, all);
    auto rest = runs;
    for (const auto& one : grid.cells) {
        cells.push_back({{"name", one.name}, {"state", one.state}});
        const auto found = runs.find(one.name);
        if (found != runs.end()) cells.back()["run"] = to_json(*found->second);
        rest.erase(one.name);
    }
    for (const auto& [name, run] : rest)
        cells.push_back({{"name", name}, {"state", run->state}, {"run", to_json(*run)}});
    return text(out);
}

std::string run_json(const run_view& run, const history& past, std::int64_t from, std::int64_t to, std::size_t most) {
    auto out = to_json(run);
    out["version"] = run.version;
    if (run.contract) {
        out["contract"] = contract(*run.contract);
        auto& deck = out["deck"] = json::array();
        for (const auto& one : run.contract->deck)
            deck.push_back({{"noise_multiplier", number(one.noise_multiplier)},
                            {"planned", one.steps},
                            {"left", one.steps - past.steps_at(one.noise_multiplier)}});
    }
    out["groups"] = run.groups;
    out["controller"] = run.controller;
    out["notes"] = run.notes;
    out["warnings"] = run.warnings;
    if (!run.table.rows.empty()) out["table"] = {{"columns", run.table.columns}, {"rows", run.table.rows}};
    auto& curves = out["curves"] = json::object();
    for (const auto& row : eval::quantities)
        if (const auto& curve = past.of(row.which); !curve.points().empty())
            curves[std::string(row.name)] = points(curve.thinned(from, to, most));
    auto& adapters = out["adapters"] = json::array();
    for (const auto* one : choose_snapshots(past)) {
        json now = {{"step", one->step}, {"radii", rounded(one->radii)}};
        if (!one->rates.empty()) now["rates"] = rounded(one->rates);
        adapters.push_back(std::move(now));
    }
    return text(out);
}

std::string metrics_csv(const history& past) {
    std::string out = "step,quantity,value\n";
    for (const auto& row : eval::quantities)
        for (const auto& one : past.of(row.which).points())
            out += fmt::format("{},{},{}\n", one.step, row.name, one.value);
    return out;
}

std::string session_json(bool may_stop) {
    json out = {{"may_stop", may_stop}, {"quantities", json::array()}};
    // What the model is worth comes first.
    for (const bool evaluations : {true, false})
        for (const auto& row : eval::quantities)
            if ((row.when == eval::moment::evaluation) == evaluations)
                out["quantities"].push_back({{"name", row.name},
                                             {"title", row.title},
                                             {"logarithmic", row.is_logarithmic},
                                             {"stepwise", row.is_stepwise},
                                             {"noisy", row.is_noisy}});
    return text(out);
}

std::string openapi_json() {
    auto out = json::parse(api_description());
    auto& fields = out.at("components").at("schemas").at("run").at("properties");
    for (const auto& row : eval::quantities) {
        const std::string name(row.name);
        fields[name] = {{"type", {"number", "null"}}, {"description", row.help}};
        if (row.within)
            fields[name + "_in"] = {
                {"type", {"array", "null"}},
                {"items", {{"type", "number"}}},
                {"description", "where that lies with 95 %, of a look that carries noise: from, to"}};
    }
    return text(out);
}

std::string prometheus_text(const catalog& all) {
    std::string out;
    const auto gauge = [&](const std::string& name, std::string_view help, auto read_value) {
        out += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
        for (const auto& one : all.runs()) {
            const double value = read_value(one->view());
            if (!std::isnan(value)) out += fmt::format("{}{{run=\"{}\"}} {}\n", name, label(one->view().name), value);
        }
    };
    gauge("rldp_step", "Steps made.", [](const run_view& run) { return static_cast<double>(run.step); });
    gauge("rldp_steps_planned", "Steps planned.", [](const run_view& run) { return static_cast<double>(run.steps); });
    gauge("rldp_epsilon_guaranteed", "Committed epsilon; absent where nothing is guaranteed.", [](const run_view& run) {
        return run.contract && run.contract->any ? run.contract->epsilon_guaranteed : unknown;
    });
    gauge("rldp_running", "1 while the run goes on.",
          [](const run_view& run) { return run.state == "running" || run.state == "starting" ? 1.0 : 0.0; });
    for (const auto& row : eval::quantities) {
        const std::string name(row.gauge);
        gauge(name, row.help, [&](const run_view& run) { return run.value(row.which); });
        if (!row.within) continue;
        const auto bound = [&](double eval::interval::*which) {
            return [&row, which](const run_view& run) {
                const auto& in = run.latest[row.which].within;
                return in ? (*in).*which : unknown;
            };
        };
        gauge(name + "_low", "Where that lies with 95 %, of a look that carries noise: from.",
              bound(&eval::interval::low));
        gauge(name + "_high", "The same: to.", bound(&eval::interval::high));
    }
    return out;
}

}  // namespace rldp::monitor

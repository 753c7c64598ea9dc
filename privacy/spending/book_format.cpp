#include "privacy/spending/book_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/json_reader.hpp"
#include "config/base/require.hpp"
#include "config/base/whole_number.hpp"

namespace rldp::privacy::detail {

namespace {

using nlohmann::json;

constexpr double most_epsilon = 1e300, most_steps = 1e7;
constexpr std::int64_t most_records = 1'000'000;

double read_delta(const json_reader& from, const std::string& key, double least) {
    const double value = from.number(key, least, 1);
    refuse_unless(value > least && value < 1,
                  fmt::format("{}: {} is {}, not in ({:g}, 1)", from.origin(), key, value, least));
    return value;
}

std::vector<phase> phases_from(const json& list, const std::string& origin) {
    refuse_unless(list.is_array(), origin + ": phases is no list");
    std::vector<phase> out;
    for (const auto& each : list) {
        const json_reader from(each, origin + ": phases");
        out.push_back({from.number("noise_multiplier", 1e-300, 1e300), from.number("sample_rate", 0, 1),
                       from.integer("steps", 1, static_cast<std::int64_t>(most_steps))});
    }
    return out;
}

publication publication_in(const std::string& word, const std::string& origin) try {
    return parse_named<publication>(word);
} catch (const error& unknown) {
    refuse(fmt::format("{}: held_out: {}", origin, unknown.what()));
}

book_entry entry_from(const json& line, const std::string& origin) {
    const json_reader from(line, origin);
    // Lines of earlier versions say nothing of held-out units, whose raw figures those published.
    book_entry out{.run = from.text("run"),
                   .nonce = from.text("nonce", ""),
                   .copy_of = from.text("copy_of", ""),
                   .place = from.text("place"),
                   .began = from.text("began"),
                   .data = from.text("data"),
                   .unit = from.text("unit"),
                   .split = from.text("split"),
                   .held_out = publication_in(from.text("held_out", "raw"), origin),
                   .epsilon_guaranteed = {},
                   .delta = read_delta(from, "delta", 0),
                   .padding_delta = from.number("padding_delta", 0, 1),
                   .phases = phases_from(from.at("phases"), origin)};
    refuse_unless(out.padding_delta < out.delta, origin + ": padding_delta is not below delta");
    if (from.has("looks")) {
        const json_reader looks(from.at("looks"), origin + ": looks");
        out.looks.count = looks.integer("count", 0, 1000);
        out.looks.noise_multiplier = looks.number("noise_multiplier", 0, 1e9);
        refuse_unless(out.looks.count == 0 || out.looks.noise_multiplier > 0, origin + ": looks without noise");
    }
    if (from.has("epsilon")) out.epsilon_guaranteed = from.number("epsilon", 0, most_epsilon);
    return out;
}

book_total total_from(const json& line, const std::string& origin) {
    const json_reader from(line, origin);
    const auto by = from.text("composition");
    refuse_unless(by == "basic" || by == "pld", fmt::format("{}: composition is {}, not basic or pld", origin, by));
    book_total out{.epsilon_budget = from.number("epsilon", 0, most_epsilon),
                   .delta = read_delta(from, "delta", 0),
                   .unit = from.text("unit"),
                   .by = by == "pld" ? composition::pld : composition::basic};
    if (from.has("records_per_unit")) out.records_per_unit = from.integer("records_per_unit", 1, most_records);
    return out;
}

/// Into the run's line.
void take_start(budget_book& book, const json& line, const std::string& origin) {
    const json_reader from(line, origin);
    const auto run = from.text("run");
    const auto found =
        std::find_if(book.runs.begin(), book.runs.end(), [&](const auto& one) { return one.run == run; });
    refuse_unless(found != book.runs.end(),
                  origin + ": a start of a run that is not in the book; bring it back as it was");
    found->nonce = from.text("nonce");
    found->place = from.text("place");
}

}  // namespace

std::string to_line(const book_entry& run) {
    json phases = json::array();
    for (const auto& each : run.phases)
        phases.push_back(
            {{"noise_multiplier", each.noise_multiplier}, {"sample_rate", each.sample_rate}, {"steps", each.steps}});
    return json{{"began_run",
                 {{"run", run.run},
                  {"nonce", run.nonce},
                  {"copy_of", run.copy_of},
                  {"place", run.place},
                  {"began", run.began},
                  {"data", run.data},
                  {"unit", run.unit},
                  {"split", run.split},
                  {"held_out", name_of(run.held_out)},
                  {"epsilon", run.epsilon_guaranteed ? json(*run.epsilon_guaranteed) : json(nullptr)},
                  {"delta", run.delta},
                  {"padding_delta", run.padding_delta},
                  {"phases", std::move(phases)},
                  {"looks", {{"count", run.looks.count}, {"noise_multiplier", run.looks.noise_multiplier}}}}}}
               .dump(-1, ' ', false, json::error_handler_t::replace) +
           "\n";
}

std::string to_line(const book_start& start) {
    return json{{"start", {{"run", start.run}, {"nonce", start.nonce}, {"place", start.place}, {"began", start.began}}}}
               .dump(-1, ' ', false, json::error_handler_t::replace) +
           "\n";
}

std::string to_line(const book_total& total) {
    return json{{"total",
                 {{"epsilon", total.epsilon_budget},
                  {"delta", total.delta},
                  {"unit", total.unit},
                  {"composition", total.by == composition::pld ? "pld" : "basic"},
                  {"records_per_unit", total.records_per_unit ? json(*total.records_per_unit) : json(nullptr)}}}}
               .dump(-1, ' ', false, json::error_handler_t::replace) +
           "\n";
}

void set(budget_book& book, const book_total& total) {
    std::erase_if(book.totals, [&](const auto& one) { return one.unit == total.unit; });
    book.totals.push_back(total);
}

void add(budget_book& book, std::string_view text, const std::string& origin) {
    const auto line = parse_object(text, origin);
    if (line.size() == 1 && line.contains("began_run") && line["began_run"].is_object())
        book.runs.push_back(entry_from(line["began_run"], origin));
    else if (line.size() == 1 && line.contains("total") && line["total"].is_object())
        set(book, total_from(line["total"], origin));
    else if (line.size() == 1 && line.contains("start") && line["start"].is_object())
        take_start(book, line["start"], origin);
    else
        refuse(origin + ": neither a run nor a total; bring back the book as it was");
}

void check(const book_total& total, const std::string& origin) {
    refuse_unless(is_positive(total.epsilon_budget),
                  fmt::format("{}: ε is {}; give a finite number above 0", origin, total.epsilon_budget));
    refuse_unless(total.delta > 0 && total.delta < 1,
                  fmt::format("{}: δ is {}; give a number in (0, 1)", origin, total.delta));
    if (!total.records_per_unit) return;
    refuse_unless(*total.records_per_unit >= 1 && *total.records_per_unit <= most_records,
                  fmt::format("{}: --records-per-unit is {}; give a number from 1 to {}", origin,
                              *total.records_per_unit, most_records));
    refuse_unless(total.unit != "record",
                  origin + ": --records-per-unit is of a total for persons or the like; give their column as --unit");
}

}  // namespace rldp::privacy::detail

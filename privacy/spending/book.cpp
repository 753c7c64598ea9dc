#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/strict_json.hpp"
#include "base/system.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_search.hpp"
#include "privacy/spending/counts_charge.hpp"

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
        out.looks.count = looks.integer("count", 0, 100'000);
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
                   .by = parse_named<composition_rule>(by)};
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
                  {"composition", name_of(total.by)},
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

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

void append(const fs::path& directory, const std::string& line) {
    append_file file(detail::locate_lines(directory));
    const auto text = read_file(detail::locate_lines(directory));
    if (const auto end = text.rfind('\n') + 1; end < text.size()) file.truncate(end);  // torn by a crash
    file.append(line);
}

budget_book book_at(const fs::path& directory) {
    budget_book out;
    const auto path = detail::locate_lines(directory);
    if (!fs::exists(path)) return out;
    const auto text = read_text(path);
    std::size_t number = 0;
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        detail::add(out, std::string_view(text).substr(begin, end - begin),
                    fmt::format("{}:{}", path.string(), ++number));
    return out;
}

const book_entry* find(const budget_book& book, const std::string& run) {
    const auto found =
        std::find_if(book.runs.begin(), book.runs.end(), [&](const auto& one) { return one.run == run; });
    return found == book.runs.end() ? nullptr : &*found;
}

/// Which line is the directory's own, where the book's last nonce for it is known there. An account of a tuning that
/// was removed and made again has another header.
const book_entry* own_line(const budget_book& book, const book_mark& mark, const std::string& header) {
    for (const auto& start : mark.starts)
        if (const auto* line = find(book, start.run);
            line && line->nonce == start.nonce && (line->run == header || line->run.starts_with(header + "+")))
            return line;
    // Begun, and last started, by a version without nonces.
    const auto* line = find(book, header);
    return line && line->nonce.empty() && mark.starts.empty() ? line : nullptr;
}

void join_sketch(const fs::path& directory, const run_key& key, const unit_sketches& of) {
    const auto known = read_sketches(directory);
    if (const auto all = joined(known, under(key, of)); all != known) write_sketches(directory, all);
}

book_entry entry_for(const book_claim& run, const run_key& key) {
    const auto& header = run.ledger.header;
    book_entry out{.run = run.ledger.header_hash,
                   .nonce = {},
                   .copy_of = {},
                   .place = run.place.string(),
                   .began = now(),
                   .data = key.hmac(run.data_digest),
                   .unit = header.unit,
                   .split = key.hmac("split " + run.split),
                   .held_out = header.held_out,
                   .epsilon_guaranteed = {},
                   .delta = header.delta,
                   .padding_delta = header.padding_delta,
                   .phases = {}};
    if (header.guarantee().holds()) {
        out.epsilon_guaranteed = header.epsilon_guaranteed;
        out.phases = run.phases;
        out.looks = header.all_looks();
    }
    return out;
}

/// It is of all units, whatever side of a run's they are on.
book_entry entry_for(const counts_claim& of, const counts_charge& charged) {
    const auto& [multiplier, selection_delta] = charged.price();
    return {.run = "counts " + new_nonce(),
            .nonce = {},
            .copy_of = {},
            .place = of.what,
            .began = now(),
            .data = {},
            .unit = of.unit,
            .split = {},
            .held_out = publication::none,
            .epsilon_guaranteed = of.epsilon,
            .delta = of.delta,
            .padding_delta = selection_delta,
            .phases = {{multiplier, 1, 1}},
            .looks = {.count = 1, .noise_multiplier = multiplier}};
}

[[noreturn]] void refuse_excess(const fs::path& directory, const book_entry& entry, const std::string& why) {
    refuse(fmt::format(
        "privacy.book {}: with this run{}, {}; lower privacy.epsilon, or ask the data's owner for more "
        "(rldp book --total-epsilon)",
        directory.string(),
        entry.copy_of.empty() ? "" : fmt::format(", which as a copy of {} takes its promise once more", entry.copy_of),
        why));
}

start_kind enter(const fs::path& directory, const book_claim& run) {
    make_book(directory);
    const detail::writing_lock alone(directory);
    const auto key = run_key::load(detail::locate_key(directory));
    auto book = book_at(directory);
    const auto& header = run.ledger.header_hash;
    const auto mark = read_mark(run.mark);
    const auto nonce = new_nonce();
    const auto* own = own_line(book, mark, header);
    // Here as one to come, in the book, and here as the last (book_mark.hpp).
    const auto start = [&](const book_mark::start& before, const std::string& name, const std::string& line) {
        const book_mark::start next{name, nonce};
        write_mark(run.mark, {.book = directory, .starts = {before, next}});
        append(directory, line);
        write_mark(run.mark, {.book = directory, .starts = {next}});
    };
    if (own) {
        const book_mark::start before{own->run, own->nonce};
        start(before, own->run, detail::to_line(detail::book_start{own->run, nonce, run.place.string(), now()}));
        return start_kind::again;
    }
    auto entry = entry_for(run, key);
    entry.nonce = nonce;
    if (const auto* original = find(book, header)) {
        entry.run += "+" + nonce;
        entry.copy_of = original->place;
    }
    book.runs.push_back(entry);
    if (const auto why = detail::excess(book, entry)) refuse_excess(directory, entry, *why);
    join_sketch(directory, key, run.sketches);
    start(mark.starts.empty() ? book_mark::start{header, ""} : mark.starts.front(), entry.run, detail::to_line(entry));
    return entry.copy_of.empty() ? start_kind::first : start_kind::copy;
}

counts_charge book_counts(const fs::path& directory, const counts_claim& claim, const counts_charge& charged) {
    make_book(directory);
    const detail::writing_lock alone(directory);
    const auto key = run_key::load(detail::locate_key(directory));
    auto book = book_at(directory);
    const auto entry = entry_for(claim, charged);
    book.runs.push_back(entry);
    if (const auto why = detail::excess(book, entry))
        refuse(
            fmt::format("budget book {}: with this, {}; lower --epsilon, or ask the data's owner for more (rldp book "
                        "--total-epsilon)",
                        directory.string(), *why));
    join_sketch(directory, key, claim.sketches);
    append(directory, detail::to_line(entry));
    return charged;
}

}  // namespace

counts_charge enter_counts(const fs::path& directory, const counts_claim& claim) {
    const counts_charge charged(claim);
    try {
        return book_counts(directory, claim, charged);
    } catch (const storage_error& reason) {
        detail::refuse_unwritable(directory, reason);
    }
}

budget_book read_book(const fs::path& directory) {
    if (fs::is_regular_file(directory))
        refuse(directory.string() + ": a file, and a budget book is a directory; rldp book lists those there are");
    if (!fs::exists(detail::locate_lines(directory)))
        refuse(directory.string() + ": holds no budget book (book.jsonl is missing); a run makes one (privacy.book)");
    return book_at(directory);
}

start_kind enter_run(const fs::path& directory, const book_claim& run) {
    try {
        return enter(directory, run);
    } catch (const storage_error& reason) {
        detail::refuse_unwritable(directory, reason);
    }
}

void check_room(const fs::path& directory, const book_claim& run) {
    auto book = book_at(directory);
    const auto entry = entry_for(run, run_key::load(detail::locate_key(directory)));
    book.runs.push_back(entry);
    if (const auto why = detail::excess(book, entry)) refuse_excess(directory, entry, *why);
}

void set_total(const fs::path& directory, const book_total& total) {
    detail::check(total, "rldp book");
    make_book(directory);
    const detail::writing_lock alone(directory);
    auto book = book_at(directory);
    detail::set(book, total);
    if (const auto why = detail::excess(book, total))
        refuse(fmt::format("{}: {}; give more", directory.string(), *why));
    append(directory, detail::to_line(total));
}

}  // namespace rldp::privacy

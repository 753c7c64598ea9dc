// Rows from a model: in the words of the template, of the types that it declares, the same however they are computed.
#include "run/synthesis/synthesis.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>

#include "base/files.hpp"
#include "config/config.hpp"
#include "data/sources/tables.hpp"
#include "models/decoding/decoding_model.hpp"
#include "models/generate.hpp"
#include "models/lora/layout.hpp"
#include "models/weights.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/synthesis/free_texts.hpp"
#include "run/synthesis/row_sampler.hpp"
#include "run/synthesis/row_walk.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;

namespace {

const std::string base = std::filesystem::absolute("config/tiny-gpt2");

const std::string visits = R"~({
  "person": "id", "opening": "A visit.", "clause": "{label}: {value}.", "missing": ["", "?"],
  "schema": [
    {"column": "sex", "category": ["female", "male"]},
    {"column": "kind", "category": ["A", "A.B", "AB", "Very good", "Very bad"], "required": true},
    {"column": "age", "integer": [0, 120], "required": true},
    {"column": "days", "integer": [0, 2000], "required": true},
    {"column": "weight", "number": [-1.5, 30], "step": 0.5},
    {"column": "seen", "date": ["2023-12-20", "2024-01-10"], "required": true},
    {"column": "icd", "code": "[A-Z][0-9]{2}(\\.[0-9])?", "required": true},
    {"column": "note", "text": 12},
    {"column": "back", "category": ["0", "1"], "required": true},
    {"column": "price", "number": [0, 20], "step": 0.01, "required": true}],
  "columns": {
    "days": {"count": {"zero": "No stay.", "one": "Stay of 1 day.", "many": "Stay of {value} days."}},
    "note": {"clause": "Said: {value} (end)"},
    "back": {"sentences": {"0": "Not seen again.", "1": "Seen again."}},
    "price": {"decimal": ","}}})~";

const std::regex visit_shape(
    "A visit\\. sex: (female|male|unknown)\\. kind: (A|A\\.B|AB|Very good|Very bad)\\. age: ([0-9]{1,3})\\. "
    "(No stay|Stay of 1 day|Stay of [0-9]+ days)\\. weight: (-?[0-9]+(\\.[0-9])?|unknown)\\. "
    "seen: (202[34]-[01][0-9]-[0-3][0-9])\\. icd: ([A-Z][0-9]{2}(\\.[0-9])?)\\. Said: (.{1,60}) \\(end\\) (Not "
    "seen|Seen) "
    "again\\. price: ([0-9]+(\\.[0-9]{1,2})?)\\.");

/// Bytes, and an end.
struct bytes : models::tokenizer {
    std::string known;  ///< empty: all
    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<std::int32_t> out;
        for (const char c : text) out.push_back(static_cast<std::uint8_t>(c));
        return out;
    }
    std::string decode(const std::vector<std::int32_t>& ids) const override { return {ids.begin(), ids.end()}; }
    std::int64_t size() const override { return 257; }
    std::size_t count_bytes(std::int32_t id) const override { return spell(id).size(); }
    std::string spell(std::int32_t id) const override {
        const char c = static_cast<char>(id);
        return id > 255 || (!known.empty() && known.find(c) == std::string::npos) ? std::string() : std::string(1, c);
    }
    models::added_token added(std::int32_t) const override { return {}; }
};

row_plan plan_of(const std::string& how, const models::tokenizer& words, const given_cells& given = {},
                 std::int64_t window = 4096) {
    return plan_rows(data::parse_template(how, "t.json"), given, words, {}, window);
}

std::string tell(const row_plan& plan, const std::vector<std::string>& cells) {
    data::table rows("t", plan.table->columns);
    rows.add_row(cells, 1);
    return data::row_renderer(plan.table->how, rows, nullptr)(0);
}

std::string spelled_by(const row_plan& plan, const std::vector<std::int32_t>& taken) {
    std::string out;
    for (const auto id : taken) out += plan.table->tokens.spell(id);
    return out;
}

/// A row of even choices; the tokens that were taken, too.
row_walk walk_at_random(const row_plan& plan, std::mt19937& random, std::vector<std::int32_t>& taken) {
    token_lists known(plan.table->tokens);
    row_walk row(plan);
    for (int step = 0; step < 4000; ++step) {
        const auto view = row.look(known);
        if (view.what == row_walk::need::over) return row;
        REQUIRE(view.what != row_walk::need::stuck);
        if (view.what == row_walk::need::given) {
            taken.push_back(view.token);
            row.take(view.token);
            continue;
        }
        const auto ways = view.values->size() + view.words.size();
        // Long texts are likelier than their end.
        if (!view.words.empty() && random() % 4 == 0) {
            taken.push_back(view.words[random() % view.words.size()]);
            row.take(taken.back());
            continue;
        }
        const auto way = random() % (ways + (view.may_end ? 1 : 0));
        if (way == ways) {
            row.end();
            continue;
        }
        taken.push_back(way < view.values->size() ? (*view.values)[way] : view.words[way - view.values->size()]);
        row.take(taken.back());
    }
    return row;
}

}  // namespace

TEST_CASE("every row of any choices reads back, and its fixed words never differ") {
    std::vector<std::pair<std::string, std::unique_ptr<const models::tokenizer>>> all;
    all.emplace_back("bytes", std::make_unique<bytes>());
    all.emplace_back("tiny-gpt2", models::tokenizer::load(base));
    if (const auto* stories = "../shared/data/stories260K"; std::filesystem::exists(stories))
        all.emplace_back("stories260K", models::tokenizer::load(stories));
    for (const auto& [name, words] : all) {
        CAPTURE(name);
        const auto plan = plan_of(visits, *words);
        std::mt19937 random(7);
        std::set<std::string> kinds, stays, ends;
        int unread = 0;
        for (int i = 0; i < 400; ++i) {
            std::vector<std::int32_t> taken;
            const auto row = walk_at_random(plan, random, taken);
            REQUIRE(row.over());
            const auto text = row.text();
            std::string spelled = plan.opening_text;
            for (const auto id : taken) spelled += plan.table->tokens.spell(id);
            REQUIRE(spelled == text);
            std::smatch found;
            INFO(text);
            REQUIRE(std::regex_match(text, found, visit_shape));
            const auto cells = row.cells();
            if (!cells) {
                ++unread;
                continue;
            }
            REQUIRE(tell(plan, *cells) == text);
            for (std::size_t c = 0; c < cells->size(); ++c) {
                auto cell = (*cells)[c];
                if (c == 9) {
                    REQUIRE(cell.find('.') == std::string::npos);  // as the table writes it
                    std::replace(cell.begin(), cell.end(), ',', '.');
                }
                const auto& column = (*plan.table->how.schema)[c];
                REQUIRE((data::conforms(cell, column.type) || (cell.empty() && !column.required)));
            }
            kinds.insert((*cells)[1]);
            stays.insert(found[4] == "Stay of 1 day" || found[4] == "No stay" ? std::string(found[4]) : "days");
            ends.insert((*cells)[9].find(',') == std::string::npos ? "whole" : "fraction");
        }
        CHECK(kinds.size() == 5);  // also those that begin as another does
        CHECK(stays.size() == 3);
        CHECK(ends.size() == 2);  // also behind the last full stop, which may be a number's point
        CHECK(unread < 40);
    }
}

TEST_CASE("given cells are words like the template's own") {
    const bytes words;
    const auto plan = plan_of(visits, words, {{"sex", "female"}, {"days", "1"}, {"weight", ""}});
    CHECK(has(plan.opening_text, "A visit. sex: female. kind:"));
    CHECK(plan.slots.size() == 7);
    std::mt19937 random(1);
    std::vector<std::int32_t> taken;
    const auto row = walk_at_random(plan, random, taken);
    const auto cells = row.cells();
    REQUIRE(cells);
    CHECK(cells->at(0) == "female");
    CHECK(cells->at(3) == "1");
    CHECK(cells->at(4).empty());
    CHECK(has(row.text(), "Stay of 1 day. weight: unknown."));
}

TEST_CASE("what is given behind a text has no part in its end") {
    const bytes words;
    const auto how = R"~({"opening": "It", "clause": "Said: {value} (end)", "schema": [
        {"column": "a", "text": 9}, {"column": "b", "text": 40}]})~";
    const auto plan = plan_of(how, words, {{"b", "and much more"}});
    REQUIRE(plan.slots.size() == 1);
    CHECK(plan.slots[0].ending_text == " (end)");
    token_lists known(plan.table->tokens);
    row_walk row(plan);
    for (const char c : std::string(" x (end)")) row.take(static_cast<std::uint8_t>(c));
    for (const char c : std::string(" Said: and much more (end)")) {
        const auto view = row.look(known);
        REQUIRE(view.what == row_walk::need::given);
        REQUIRE(view.token == static_cast<std::uint8_t>(c));
        row.take(view.token);
    }
    REQUIRE(row.over());
    CHECK(row.cells() == std::vector<std::string>{"x", "and much more"});
}

TEST_CASE("a type of which no short value is there can be planned") {
    const bytes words;
    for (const std::string type :
         {R"("code": "[0-9]{5}")", R"("integer": [10000, 99999])", R"("code": "[0-9]{10}")", R"("code": "[A-Z] [0-9]")",
          R"("code": "é[0-9]")", R"("number": [-3000, -1000], "step": 0.5)"}) {
        CAPTURE(type);
        CHECK(plan_of(R"({"opening": "It", "schema": [{"column": "a", )" + type + "}]}", words).slots.size() == 1);
    }
    // A value that a rule tells otherwise is no example.
    const auto few = R"({"opening": "It", "schema": [{"column": "a", "code": "A[01]"}],
                         "columns": {"a": {"values": {"A0": "none"}}}})";
    CHECK(plan_of(few, words).slots.front().of->cells.size() == 2);
}

TEST_CASE("in the last column every value is drawn that begins with another and its closing words") {
    const bytes words;
    for (const std::string after : {".", ".."}) {
        const auto plan = plan_of(R"({"opening": "It", "clause": "is {value})" + after + R"(",
            "schema": [{"column": "a", "category": ["Inc", "Inc.", "Inc..", "Inc. x"], "required": true}]})",
                                  words);
        std::mt19937 random(3);
        std::set<std::string> seen;
        for (int i = 0; i < 300; ++i) {
            std::vector<std::int32_t> taken;
            const auto row = walk_at_random(plan, random, taken);
            const auto cells = row.cells();
            REQUIRE(cells);
            REQUIRE(tell(plan, *cells) == row.text());
            REQUIRE(plan.opening_text + spelled_by(plan, taken) == row.text());
            seen.insert(cells->front());
        }
        CHECK(seen.size() == 4);
    }
}

TEST_CASE("what no row can be made of is refused in a line") {
    const bytes words;
    const auto said = [&](const std::string& schema, const std::string& more, const given_cells& given = {}) {
        return refusal([&] { plan_of("{\"opening\": \"It\", \"schema\": " + schema + more + "}", words, given, 40); });
    };
    const auto one = [](const std::string& type) { return "[{\"column\": \"a\", " + type + ", \"required\": true}]"; };
    CHECK(has(said(one(R"("category": ["x", "y"])"), R"(, "columns": {"a": {"values": {"x": "z", "y": "z"}}})"),
              "\"x\" and \"y\" are told alike"));
    CHECK(has(said(one(R"("text": 9)"), R"(, "clause": "{label}: {value}")"), "no words tell where it ends"));
    CHECK(has(said(one(R"("text": 9)"), R"(, "clause": "{label}: {value}.")"), "or declare its type"));
    CHECK(
        has(said(R"([{"column": "a"}, {"column": "b"}])", R"(, "clause": "{value}")"), "no words tell where it ends"));
    CHECK(has(said(one(R"("number": [0, 9], "step": 0.5)"), R"(, "clause": "{value} or {value}.")"),
              "once and as it is"));
    CHECK(has(said(one(R"("number": [0, 9], "step": 0.5)"), R"(, "clause": "no slot.")"), "once and as it is"));
    CHECK(has(said(one(R"("integer": [0, 9])"), "", {{"b", "1"}}), "--where b: no such column; there are a"));
    CHECK(has(said(one(R"("integer": [0, 9])"), "", {{"a", "10"}}), "--where a=10: must be integer from 0 to 9"));
    CHECK(has(said(one(R"("integer": [0, 9])"), "", {{"a", ""}}), "--where a=: must be"));
    CHECK(has(said(one(R"("integer": [0, 9])"), "", {{"a", "1"}}), "there is nothing to make"));
    CHECK(has(said(one(R"("category": ["0", "1"])"),
                   R"(, "clause": "{label} {value} as a very long clause has it, you know.")"),
              "more than the model's window of 40"));
    const auto bare =
        R"({"clause": "{value}.", "schema": [{"column": "a", "category": ["x", "y"], "required": true}]})";
    CHECK(has(refusal([&] { plan_of(bare, words); }), "no token to begin with"));
    bytes few;
    few.known = "ait s.x";
    const auto sparse = [&](const std::string& clause, const std::string& values) {
        return refusal([&] {
            plan_of(R"({"opening": "a", "clause": ")" + clause + R"(", "schema": [{"column": "a", "category": )" +
                        values + R"(, "required": true}]})",
                    few);
        });
    };
    CHECK(sparse("is {value}.", R"(["x", "s"])").empty());
    CHECK(has(sparse("is {value}!", R"(["x", "s"])"), "can't spell \"!\""));
    CHECK(has(sparse("is-{value}.", R"(["y", "z"])"), "the model's tokens spell none of its values"));
}

namespace {

/// ln of the chance of `k` or fewer of n at p, and of k or more: exact sums.
double least_tail(std::int64_t n, double p, std::int64_t k) {
    const auto chance = [&](std::int64_t i) {
        const auto x = static_cast<double>(i), all = static_cast<double>(n);
        return std::exp(std::lgamma(all + 1) - std::lgamma(x + 1) - std::lgamma(all - x + 1) + x * std::log(p) +
                        (all - x) * std::log1p(-p));
    };
    double below = 0, above = 0;
    for (std::int64_t i = 0; i <= k; ++i) below += chance(i);
    for (std::int64_t i = k; i <= n; ++i) above += chance(i);
    return std::min(below, above);
}

const std::string small_table = R"({"opening": "A visit.", "clause": "{label}: {value}.", "schema": [
    {"column": "sex", "category": ["f", "fm", "male"], "required": true},
    {"column": "n", "integer": [8, 11], "required": true}]})";

struct tiny {
    std::shared_ptr<const models::causal_lm> model = models::causal_lm::load(base, at::kFloat, at::kCPU);
    std::unique_ptr<const models::tokenizer> words = models::tokenizer::load(base);
    std::shared_ptr<const models::decoding_model> decoded =
        std::make_shared<const models::decoding_model>(model, nullptr, nullptr);
    row_plan plan(const std::string& how) const { return plan_of(how, *words, {}, model->config().window); }
    made_rows make(const row_plan& plan, const row_sampling& how, std::int64_t first, std::int64_t count,
                   std::int64_t places = 64) const {
        return make_rows(make_row_model(decoded, plan.opening), plan, how, first, count, places);
    }
};

/// Chances of all rows, from logits of the whole text each time, without a cache.
void add_chances(const tiny& of, const row_plan& plan, token_lists& known, std::vector<std::int32_t> ids,
                 const row_walk& row, double chance, std::map<std::vector<std::string>, double>& out) {
    const auto view = row.look(known);
    if (view.what == row_walk::need::over) {
        out[*row.cells()] += chance;
        return;
    }
    const auto go = [&](std::int32_t token, double share) {
        auto next = row;
        next.take(token);
        auto more = ids;
        more.push_back(token);
        add_chances(of, plan, known, std::move(more), next, chance * share, out);
    };
    if (view.what == row_walk::need::given) return go(view.token, 1);
    const auto logits = of.model->logits(at::tensor(ids, at::kInt).to(at::kLong).unsqueeze(0), nullptr, nullptr)
                            .select(1, -1)
                            .flatten();
    const auto p = at::softmax(logits.to(at::kDouble), 0);
    std::vector<std::int32_t> ways = *view.values;
    ways.insert(ways.end(), view.words.begin(), view.words.end());
    double sum = 0;
    for (const auto id : ways) sum += p[id].item<double>();
    for (const auto id : ways) go(id, p[id].item<double>() / (view.may_end ? 1 : sum));
    if (view.may_end) {
        auto ended = row;
        ended.end();
        out[*ended.cells()] += chance * (1 - sum);
    }
}

}  // namespace

TEST_CASE("rows come as often as the model's chances say") {
    const tiny t;
    const auto plan = t.plan(small_table);
    token_lists known(plan.table->tokens);
    std::map<std::vector<std::string>, double> chances;
    add_chances(t, plan, known, plan.opening, row_walk(plan), 1, chances);
    REQUIRE(chances.size() == 12);
    double sum = 0;
    for (const auto& [cells, chance] : chances) sum += chance;
    CHECK(sum == Approx(1).epsilon(1e-9));
    constexpr std::int64_t rows = 6000;
    std::map<std::vector<std::string>, std::int64_t> seen;
    const auto made = t.make(plan, {.seed = 3}, 0, rows);
    for (const auto& cells : made.cells) ++seen[cells];
    CHECK(made.counts.drawn == rows);
    for (const auto& [cells, chance] : chances) {
        CAPTURE(cells, chance, seen[cells]);
        CHECK(least_tail(rows, chance, seen[cells]) > 1e-6);
    }
    // At another temperature they are other chances, which this would notice.
    const auto cold = t.make(plan, {.seed = 3, .temperature = 0.5}, 0, rows);
    seen.clear();
    for (const auto& cells : cold.cells) ++seen[cells];
    double least = 1;
    for (const auto& [cells, chance] : chances) least = std::min(least, least_tail(rows, chance, seen[cells]));
    CHECK(least < 1e-9);
}

TEST_CASE("a row that is drawn often ends nothing, and rows that never read back do") {
    const tiny t;
    auto plan = t.plan(R"({"opening": "A visit.", "clause": "{label}: {value}.", "schema": [
        {"column": "kind", "code": "[A-P]", "required": true}]})");
    const auto table = std::make_shared<table_plan>(*plan.table);
    plan.table = table;
    for (char c = 'B'; c <= 'O'; ++c) table->how.missing.emplace(1, c);  // told otherwise now
    const auto made = t.make(plan, {.seed = 3}, 0, 64);
    CHECK(made.counts.drawn > 300);
    table->how.opening = "Another.";
    CHECK(has(refusal([&] { t.make(plan, {.seed = 3}, 64, 64); }), "draws 0 read back; train longer"));
}

TEST_CASE("a token is chosen by its weight, and the end by that of all others") {
    const std::vector<float> logits = {0, std::log(2.F), std::log(3.F), std::log(4.F)};
    const auto chosen = [&](double uniform, bool may_end) {
        return choose_token(logits.data(), 4, {0, 2}, {3}, may_end, 1, uniform);
    };
    CHECK(chosen(0, false) == 0);
    CHECK(chosen(0.124, false) == 0);
    CHECK(chosen(0.126, false) == 2);
    CHECK(chosen(0.499, false) == 2);
    CHECK(chosen(0.501, false) == 3);
    CHECK(chosen(0.9999999, false) == 3);
    CHECK(chosen(0.79, true) == 3);
    CHECK(chosen(0.81, true) == -1);
    CHECK(choose_token(logits.data(), 4, {0, 1}, {}, false, 0, 0.9) == 1);
    CHECK(choose_token(logits.data(), 4, {0}, {}, true, 0, 0.1) == -1);
    CHECK(choose_token(logits.data(), 4, {}, {}, true, 1, 0.1) == -1);
}

TEST_CASE("a row is the same in any company") {
    const tiny t;
    const auto plan = t.plan(visits);
    const auto all = t.make(plan, {.seed = 11}, 0, 48);
    for (const std::int64_t places : {1, 5, 16, 100}) {
        CAPTURE(places);
        CHECK(t.make(plan, {.seed = 11}, 7, 15, places).cells ==
              std::vector(all.cells.begin() + 7, all.cells.begin() + 22));
    }
    CHECK(t.make(plan, {.seed = 12}, 0, 48).cells != all.cells);
    // Without temperature every row is the likeliest.
    const auto likeliest = t.make(plan, {.seed = 1, .temperature = 0}, 0, 3).cells;
    CHECK(likeliest[0] == likeliest[2]);
}

namespace {

/// The public side of a run of config/tiny-gpt2, and nothing else.
struct public_side {
    scratch_directory scratch;
    explicit public_side(const std::string& how = small_table,
                         const std::string& data = R"({"path": "synthetic:500", "template": "t.json"})") {
        const eval::run_directory run{scratch / "run"};
        make_directory(run.public_side());
        scratch.write("t.json", how);
        scratch.write("c.json", R"({"privacy": {"epsilon": 8, "delta": 1e-5}, "data": )" + data +
                                    R"(, "model": {"path": ")" + base + "\"}}");
        write_file(run.config(), config::to_json(config::load(scratch / "c.json", {})));
        if (!how.empty()) write_file(run.row_template(), how);
        const auto described = models::read_model(base);
        const auto layout = models::make_layout(
            described, {.rank = 2, .alpha = 4, .targets = models::expand_targets(described, {"q", "v"})});
        models::save_adapter(run.adapter(), layout, models::initial_adapter(layout, 1), "tiny-gpt2", described);
    }
    synthesis_request request(const std::string& out, std::int64_t rows) const {
        return {.run = scratch / "run",
                .out = scratch / out,
                .model = base,
                .rows = rows,
                .given = {},
                .like = {},
                .how = {.seed = 5}};
    }
    /// What it wrote.
    std::string write(const synthesis_request& asked, const synthesis_hooks& hooks = {}) const {
        REQUIRE(synthesize(asked, hooks).finished);
        auto text = read_file(asked.out);
        remove_file(asked.out);
        return text;
    }
};

}  // namespace

TEST_CASE("a table is the same on any number of threads, and after a stop") {
    const public_side from;
    auto whole = from.request("whole.csv", 300);
    whole.batch = 16;
    std::string kept = "sex,n\n";
    std::int64_t there_by_now = 0;
    const auto made = synthesize(whole, {.kept = [&](const kept_rows& now) {
                                     CHECK(now.columns == std::vector<std::string>{"sex", "n"});
                                     for (const auto& row : now.rows) kept += row[0] + "," + row[1] + "\n";
                                     CHECK(now.there == (there_by_now += std::ssize(now.rows)));
                                     CHECK(now.of == 300);
                                 }});
    CHECK(made.finished);
    CHECK(made.rows == 300);
    const auto expected = read_file(whole.out);
    CHECK(kept == expected);
    CHECK(std::count(expected.begin(), expected.end(), '\n') == 301);
    CHECK_FALSE(std::filesystem::exists(made.waiting));

    auto threads = whole;
    threads.out = from.scratch / "threads.csv";
    for (const int count : {2, 4}) {
        threads.threads = count;
        threads.batch = 64 / count + 3;  // which changes nothing either
        synthesize(threads, {});
        CHECK(read_file(threads.out) == expected);
        remove_file(threads.out);
    }

    auto stopped = whole;
    stopped.out = from.scratch / "stopped.csv";
    stopped.threads = 2;
    std::atomic<std::int64_t> there = 0;
    const auto part = synthesize(
        stopped, {.progress = [&](const auto& now) { there = now.rows; }, .stop = [&] { return there > 60; }});
    CHECK_FALSE(part.finished);
    CHECK_FALSE(std::filesystem::exists(stopped.out));
    CHECK(has(refusal([&] { synthesize(stopped, {}); }), "go on with --resume"));
    auto other = stopped;
    other.resume = true;
    other.how.seed = 6;
    CHECK(has(refusal([&] { synthesize(other, {}); }), "was begun with another run, base, seed"));
    other.how.seed = 5;
    const auto adapter = from.scratch / "run/public/adapter/adapter_model.safetensors";
    const auto own = read_file(adapter);
    auto changed = own;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    write_file(adapter, changed);
    CHECK(has(refusal([&] { synthesize(other, {}); }), "was begun with another run, base, seed"));
    write_file(adapter, own);
    // A line that was cut in the middle is made again.
    const auto waits = read_file(part.waiting);
    REQUIRE(part.rows >= 16);
    write_file(part.waiting, waits.substr(0, waits.size() - 3));
    stopped.resume = true;
    const auto rest = synthesize(stopped, {});
    CHECK(rest.finished);
    CHECK(rest.begun_with > 0);
    CHECK(read_file(stopped.out) == expected);
    // More rows begin with the same ones.
    auto more = whole;
    more.out = from.scratch / "more.csv";
    more.rows = 400;
    synthesize(more, {});
    CHECK(read_file(more.out).starts_with(expected));
}

TEST_CASE("a call of many rows says what it takes by the first of them, and goes on or waits as it is told") {
    const public_side from;
    auto whole = from.request("t.csv", 300);
    const auto expected = from.write(whole);
    auto many = from.request("t.csv", most_rows);
    many.batch = 4;
    many.threads = 2;
    int asked = 0;
    synthesis_forecast told;
    const auto stopped = synthesize(many, {.go_on = [&](const auto& of) {
                                        ++asked;
                                        told = of;
                                        return false;
                                    }});
    CHECK(asked == 1);
    CHECK_FALSE(stopped.finished);
    CHECK(stopped.rows == 16);
    CHECK(told.rows == most_rows - 16);
    CHECK(told.seconds > 0);
    // Two cells, their quotes and commas: "f","12".
    CHECK(told.bytes > 8.0 * static_cast<double>(told.rows));
    CHECK(told.bytes < 20.0 * static_cast<double>(told.rows));
    CHECK_FALSE(std::filesystem::exists(many.out));
    // Fewer rows go on from those, and are as if nobody had asked.
    whole.resume = true;
    CHECK(from.write(whole) == expected);
    whole.resume = false;
    whole.batch = 2;
    asked = 0;
    const auto count = [&](const auto&) { return ++asked > 0; };
    CHECK(from.write(whole, {.go_on = count}) == expected);
    CHECK(asked == 1);
    whole.batch = 64;  // few rows for so large a batch
    CHECK(from.write(whole, {.go_on = count}) == expected);
    CHECK(asked == 1);
    many.rows = most_rows + 1;
    CHECK(has(refusal([&] { synthesize(many, {}); }), "--rows 100000000001: must be from 1 to 100000000000"));
}

TEST_CASE("a table that can't be made is refused in a line, and leaves nothing") {
    const public_side from;
    const auto said = [&](const auto& change) {
        auto request = from.request("t.csv", 10);
        change(request);
        return refusal([&] { synthesize(request, {}); });
    };
    CHECK(has(said([](auto& r) { r.rows = 0; }), "--rows 0: must be from 1 to"));
    CHECK(has(said([](auto& r) { r.rows = 1'000'000'000'000; }), "--rows 1000000000000: must be from 1 to"));
    CHECK(has(said([](auto& r) { r.out = "t.xlsx"; }), "name it .csv"));
    CHECK(has(said([](auto& r) { r.how.temperature = -1; }), "temperature -1"));
    CHECK(has(said([&](auto& r) { r.out = from.scratch.write("there.csv", ""); }), "exists already"));
    CHECK(has(said([&](auto& r) { r.run = from.scratch.path(); }), "is no run's directory"));
    CHECK(has(said([](auto& r) { r.resume = true; }), "there is nothing to go on with"));
    CHECK(has(said([](auto& r) { r.given = {{"sex", "x"}}; }), "--where sex=x: must be one of 3 values"));
    CHECK(has(said([&](auto& r) { r.out = from.scratch / "nowhere/t.csv"; }), "nowhere"));
    const eval::run_directory run{from.scratch / "run"};
    make_directory(run.model());
    CHECK(has(said([](auto&) {}), "leave --model out"));
    std::filesystem::remove(run.model());
    write_file(run.row_template(), R"({"schema": [{"column": "a", "sort": 1}]})");
    CHECK(has(said([](auto&) {}), "template.json: schema[0].sort: unknown key"));
    remove_file(run.row_template());
    CHECK(has(said([](auto&) {}), "declared no schema"));
    CHECK_FALSE(std::filesystem::exists(from.scratch / "t.csv"));
    CHECK_FALSE(std::filesystem::exists(from.scratch / "t.csv.partial"));
}

TEST_CASE("a table is filled where its cells are empty") {
    const public_side from(visits);
    const auto like = [&](const std::string& text) {
        auto asked = from.request("filled.csv", 0);
        asked.like = from.scratch.write("like.csv", text);
        return asked;
    };
    const std::string part =
        "note,sex,price,days,kind\n"
        ",female,\"1,5\",,A.B\n"
        "of a kind,,,1,\n"
        ",,,,\n"
        ",?,\"20\",2000,AB\n";
    const auto written = from.write(like(part));
    const auto rows = data::parse_csv(written, "filled.csv");
    REQUIRE(rows.rows() == 4);
    const auto cell = [&](std::size_t row, const std::string& name) { return rows.cell(row, *rows.find(name)); };
    CHECK(cell(0, "sex") == "female");
    CHECK(cell(0, "price") == "1,5");
    CHECK(cell(0, "kind") == "A.B");
    CHECK(cell(1, "note") == "of a kind");
    CHECK(cell(1, "days") == "1");
    CHECK(cell(3, "sex") == "?");
    CHECK(cell(3, "days") == "2000");
    const auto how = data::parse_template(visits, "t.json");
    for (std::size_t row = 0; row < rows.rows(); ++row)
        for (std::size_t c = 0; c < how.schema->size(); ++c) {
            const auto& column = (*how.schema)[c];
            auto text = std::string(rows.cell(row, c));
            if (column.name == "price") std::replace(text.begin(), text.end(), ',', '.');
            CHECK((data::conforms(text, column.type) || (!column.required && how.missing.contains(text))));
        }
    // The same on any number of threads, and a row of its own whatever stands in the others.
    auto threads = like(part);
    threads.threads = 3;
    threads.batch = 2;
    CHECK(from.write(threads) == written);
    const auto other = from.write(like("kind\nA\nAB\n"));
    CHECK(other.substr(0, other.find('\n')) == written.substr(0, written.find('\n')));
    CHECK(std::count(other.begin(), other.end(), '\n') == 3);
    // Every cell is looked at before anything is made.
    const auto said = [&](const std::string& text) { return refusal([&] { synthesize(like(text), {}); }); };
    CHECK(has(said("kind\nA\nC\n"), "like.csv:3: kind=C: must be one of 5 values"));
    CHECK(has(said("price\n1.5\n"), "price=1.5: must be number from 0 to 20, written with a decimal comma"));
    CHECK(has(said("price\n\"1,234\"\n"), "must be number"));
    CHECK(has(said("age\n007\n"), "age=007: must be integer from 0 to 120"));
    CHECK(has(said("age\n?\n"), "age=?: must be"));
    CHECK(has(said("days\n0.5\n"), "days=0.5: must be"));
    CHECK(has(said("note\nfar too long for it\n"), "text of 12 characters at most"));
    CHECK(has(said("sort,kind\n,A\n"), "no such column; there are sex, kind, age"));
    CHECK(has(said("kind\n"), "has no rows"));
    auto both = like(part);
    both.given = {{"kind", "AB"}};
    CHECK(has(refusal([&] { synthesize(both, {}); }), "kind is \"A.B\", and --where says \"AB\""));
    both.rows = 3;
    CHECK(has(refusal([&] { synthesize(both, {}); }), "--like has rows of its own"));
    CHECK_FALSE(std::filesystem::exists(from.scratch / "filled.csv.partial"));
    // What is whole stays as it is, and --where gives the rest.
    const public_side small;
    auto whole = small.request("w.csv", 0);
    whole.like = small.scratch.write("like.csv", "n,sex\n8,f\n9,\n,fm\n");
    whole.given = {{"sex", "fm"}, {"n", "9"}};
    CHECK(has(refusal([&] { synthesize(whole, {}); }), "n is \"8\", and --where says \"9\""));
    whole.given = {};
    const auto filled = small.write(whole);
    CHECK(filled.starts_with("sex,n\nf,8\n"));
    CHECK(std::count(filled.begin(), filled.end(), '\n') == 4);
}

TEST_CASE("what is told of counts is whole") {
    const bytes words;
    const auto fraction = R"({"opening": "It", "schema": [{"column": "a", "number": [0, 9], "step": 0.5}],
                              "columns": {"a": {"count": {"many": "{value} times."}}}})";
    CHECK(has(refusal([&] { plan_of(fraction, words); }), "tells whole numbers from 0 on"));
}

TEST_CASE("persons who are nobody have as many rows as was declared") {
    auto how = nlohmann::json::parse(small_table);
    how["rows_per_person"] = {0.5, 0, 0.5};
    const public_side from(how.dump());
    auto asked = from.request("p.csv", 900);
    const auto rows = data::parse_csv(from.write(asked), "p.csv");
    REQUIRE(rows.columns() == std::vector<std::string>{"person", "sex", "n"});
    std::vector<std::int64_t> counts;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        const auto person = std::stoul(std::string(rows.cell(row, 0)));
        REQUIRE((person == counts.size() || person == counts.size() + 1));
        if (person > counts.size()) counts.push_back(0);
        ++counts.back();
    }
    counts.pop_back();  // who may have been cut
    const auto ones = std::count(counts.begin(), counts.end(), 1);
    CHECK(std::count(counts.begin(), counts.end(), 3) + ones == std::ssize(counts));
    CHECK(least_tail(std::ssize(counts), 0.5, ones) > 1e-6);
    // The rows are those that there are without persons.
    const public_side without;
    const auto plain = data::parse_csv(without.write(without.request("q.csv", 900)), "q.csv");
    for (std::size_t row = 0; row < rows.rows(); ++row) REQUIRE(plain.cell(row, 1) == rows.cell(row, 2));
    const auto said = [&](const nlohmann::json& shares, const std::string& column) {
        auto changed = how;
        changed["rows_per_person"] = shares;
        changed["schema"][0]["column"] = column;
        return refusal([&] { data::parse_template(changed.dump(), "t.json"); });
    };
    CHECK(said({1}, "sex").empty());
    CHECK(has(said({0.5}, "sex"), "sum to 0.5"));
    CHECK(has(said({2, -1}, "sex"), "shares from 0 to 1"));
    CHECK(has(said(nlohmann::json::array(), "sex"), "shares from 0 to 1"));
    CHECK(has(said({1}, "person"), "column \"person\""));
}

TEST_CASE("texts and conversations are drawn whole, in the run's format") {
    const public_side from("", R"({"path": "notes.jsonl", "max_tokens": 20})");
    auto asked = from.request("t.jsonl", 40);
    const auto written = from.write(asked);
    REQUIRE(std::count(written.begin(), written.end(), '\n') == 40);
    const auto words = models::tokenizer::load(base);
    for (std::size_t at = 0; at < written.size();) {
        const auto end = written.find('\n', at);
        const auto line = nlohmann::json::parse(written.substr(at, end - at));
        const auto text = line.at("text").get<std::string>();
        CHECK(!text.empty());
        CHECK(line.size() == 1);
        at = end + 1;
    }
    asked.threads = 3;
    asked.batch = 7;
    CHECK(from.write(asked) == written);
    std::atomic<std::int64_t> there = 0;
    CHECK_FALSE(
        synthesize(asked, {.progress = [&](const auto& now) { there = now.rows; }, .stop = [&] { return there > 9; }})
            .finished);
    asked.resume = true;
    CHECK(from.write(asked) == written);
    asked.resume = false;
    asked.out = from.scratch / "t.txt";
    const auto lines = from.write(asked);
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 40);
    asked.out = from.scratch / "t.csv";
    CHECK(has(refusal([&] { synthesize(asked, {}); }), "name it .jsonl or .txt"));
    asked.out = from.scratch / "t.jsonl";
    asked.given = {{"a", "b"}};
    CHECK(has(refusal([&] { synthesize(asked, {}); }), "--where: the run's records were texts"));
    asked.given = {};
    asked.questions = 2;
    CHECK(has(refusal([&] { synthesize(asked, {}); }), "were no conversations"));

    const public_side talks("", R"({"path": "talks.jsonl", "chat": true, "max_tokens": 60})");
    auto chat = talks.request("c.jsonl", 12);
    chat.questions = 2;
    const auto hooks = [](const std::string& how) {
        return synthesis_hooks{.read_chat_template = [how](const auto&) {
            return std::optional(data::chat_template::parse(how, "chat", {}));
        }};
    };
    const std::string plain =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% "
        "endif %}";
    const auto said = talks.write(chat, hooks(plain));
    const auto first = nlohmann::json::parse(said.substr(0, said.find('\n'))).at("messages");
    REQUIRE(first.size() == 4);
    CHECK(first[0]["role"] == "user");
    CHECK(first[3]["role"] == "assistant");
    for (const auto& message : first) CHECK(!message["content"].get<std::string>().empty());
    CHECK(has(
        refusal([&] { synthesize(chat, hooks("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}")); }),
        "more than once"));
    chat.questions = 40;
    CHECK(has(refusal([&] { synthesize(chat, hooks(plain)); }), "tokens that a record may have"));
}

TEST_CASE("rows are drawn from a model that was trained whole") {
    const public_side from;
    const eval::run_directory run{from.scratch / "run"};
    std::filesystem::remove_all(run.adapter());
    auto asked = from.request("w.csv", 20);
    CHECK(has(refusal([&] { synthesize(asked, {}); }), "neither an adapter nor a model yet"));
    std::filesystem::copy(base, run.model());
    asked.model.reset();
    const auto plain = from.write(asked);
    const tiny t;
    const auto plan = t.plan(small_table);
    const auto cells = t.make(plan, {.seed = 5}, 0, 20).cells;
    std::string expected = "sex,n\n";
    for (const auto& row : cells) expected += row[0] + "," + row[1] + "\n";
    CHECK(plain == expected);
}

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
#include "models/generate.hpp"
#include "models/lora/layout.hpp"
#include "models/weights.hpp"
#include "run/artifacts/run_directory.hpp"
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
    data::table rows("t", plan.columns);
    rows.add_row(cells, 1);
    return data::row_renderer(plan.how, rows, nullptr)(0);
}

std::string spelled_by(const row_plan& plan, const std::vector<std::int32_t>& taken) {
    std::string out;
    for (const auto id : taken) out += plan.tokens.spell(id);
    return out;
}

/// A row of even choices; the tokens that were taken, too.
row_walk walk_at_random(const row_plan& plan, std::mt19937& random, std::vector<std::int32_t>& taken) {
    token_lists known(plan);
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
            for (const auto id : taken) spelled += plan.tokens.spell(id);
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
                const auto& column = (*plan.how.schema)[c];
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
    CHECK(plan_of(few, words).slots.front().cells.size() == 2);
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
    row_plan plan(const std::string& how) const { return plan_of(how, *words, {}, model->config().window); }
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
    token_lists known(plan);
    std::map<std::vector<std::string>, double> chances;
    add_chances(t, plan, known, plan.opening, row_walk(plan), 1, chances);
    REQUIRE(chances.size() == 12);
    double sum = 0;
    for (const auto& [cells, chance] : chances) sum += chance;
    CHECK(sum == Approx(1).epsilon(1e-9));
    constexpr std::int64_t rows = 6000;
    std::map<std::vector<std::string>, std::int64_t> seen;
    const auto made = make_rows({t.model}, plan, {.seed = 3}, 0, rows);
    for (const auto& cells : made.cells) ++seen[cells];
    CHECK(made.drawn == rows);
    for (const auto& [cells, chance] : chances) {
        CAPTURE(cells, chance, seen[cells]);
        CHECK(least_tail(rows, chance, seen[cells]) > 1e-6);
    }
    // At another temperature they are other chances, which this would notice.
    const auto cold = make_rows({t.model}, plan, {.seed = 3, .temperature = 0.5}, 0, rows);
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
    for (char c = 'B'; c <= 'O'; ++c) plan.how.missing.emplace(1, c);  // told otherwise now
    const auto made = make_rows({t.model}, plan, {.seed = 3}, 0, 64);
    CHECK(made.drawn > 300);
    plan.how.opening = "Another.";
    CHECK(has(refusal([&] { make_rows({t.model}, plan, {.seed = 3}, 64, 64); }),
              "rows from 65 on: of 1024 draws 0 read back by t.json"));
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
    const auto all = make_rows({t.model}, plan, {.seed = 11}, 0, 48);
    for (const std::int64_t batch : {1, 5, 16}) {
        std::vector<std::vector<std::string>> apart;
        for (std::int64_t first = 0; first < 15; first += batch)
            for (auto& row : make_rows({t.model}, plan, {.seed = 11}, first, batch).cells)
                apart.push_back(std::move(row));
        apart.resize(15);
        CHECK(apart == std::vector(all.cells.begin(), all.cells.begin() + 15));
    }
    CHECK(make_rows({t.model}, plan, {.seed = 12}, 0, 48).cells != all.cells);
    // Without temperature every row is the likeliest.
    const auto likeliest = make_rows({t.model}, plan, {.seed = 1, .temperature = 0}, 0, 3).cells;
    CHECK(likeliest[0] == likeliest[2]);
}

namespace {

/// The public side of a run of config/tiny-gpt2, and nothing else.
struct public_side {
    scratch_directory scratch;
    explicit public_side(const std::string& how = small_table) {
        const eval::run_directory run{scratch / "run"};
        make_directory(run.public_side());
        scratch.write("t.json", how);
        scratch.write(
            "c.json",
            R"({"privacy": {"epsilon": 8, "delta": 1e-5}, "data": {"path": "synthetic:500", "template": "t.json"},
                                    "model": {"path": ")" +
                base + "\"}}");
        auto config = nlohmann::json::parse(config::to_json(config::load(scratch / "c.json", {})));
        write_file(run.config(), config.dump());
        write_file(run.row_template(), how);
        const auto described = models::read_model(base);
        const auto layout = models::make_layout(
            described, {.rank = 2, .alpha = 4, .targets = models::expand_targets(described, {"q", "v"})});
        models::save_adapter(run.adapter(), layout, models::initial_adapter(layout, 1), "tiny-gpt2", described);
    }
    synthesis_request request(const std::string& out, std::int64_t rows) const {
        return {
            .run = scratch / "run", .out = scratch / out, .model = base, .rows = rows, .given = {}, .how = {.seed = 5}};
    }
};

}  // namespace

TEST_CASE("a table is the same on any number of threads, and after a stop") {
    const public_side from;
    auto whole = from.request("whole.csv", 300);
    whole.batch = 16;
    const auto made = synthesize(whole, {});
    CHECK(made.finished);
    CHECK(made.made.rows == 300);
    const auto expected = read_file(whole.out);
    CHECK(std::count(expected.begin(), expected.end(), '\n') == 301);
    CHECK_FALSE(std::filesystem::exists(made.waiting));

    auto threads = whole;
    threads.out = from.scratch / "threads.csv";
    threads.threads = 3;
    synthesize(threads, {});
    CHECK(read_file(threads.out) == expected);

    auto stopped = whole;
    stopped.out = from.scratch / "stopped.csv";
    stopped.threads = 2;
    std::atomic<int> asked = 0;
    const auto part = synthesize(stopped, {.stop = [&] { return ++asked > 12; }});
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
    REQUIRE(part.made.rows >= 16);
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

TEST_CASE("a table that can't be made is refused in a line, and leaves nothing") {
    const public_side from;
    const auto said = [&](const auto& change) {
        auto request = from.request("t.csv", 10);
        change(request);
        return refusal([&] { synthesize(request, {}); });
    };
    CHECK(has(said([](auto& r) { r.rows = 0; }), "--rows 0: must be from 1 to"));
    CHECK(has(said([](auto& r) { r.rows = 1'000'000'000; }), "--rows 1000000000: must be from 1 to"));
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

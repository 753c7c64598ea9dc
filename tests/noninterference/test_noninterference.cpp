// docs/privacy.md §11: everything public is a function of configuration, public data and releases. RLDP_TABLES random
// tables and configurations (scripts/noninterference.sh), RLDP_SEED repeats what a seed did.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "base/files.hpp"
#include "config/methods.hpp"
#include "models/causal_lm.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/noninterference/configurations.hpp"
#include "tests/noninterference/experiment.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"

using namespace rldp;
using namespace rldp::testing;
using nlohmann::json;

namespace {

/// A table that a run on `a` must not be told from.
struct neighbour {
    std::string name;
    table rows;
};

table with(table of, const unit& more) {
    of.train.push_back(more);
    return of;
}

table with_held_out(table of, const unit& more) {
    of.held_out.push_back(more);
    return of;
}

table with_fewer_held_out(table of, std::size_t units) {
    of.held_out.resize(units);
    return of;
}

table with_fewer(table of, std::size_t units) {
    of.train.resize(units);
    return of;
}

/// Texts that only tell units apart: a suffix of few bytes.
std::string tag(std::size_t i) {
    return i == 0 ? std::string() : std::string(1, static_cast<char>('a' + i % 26)) + (i < 26 ? "" : "x");
}

/// Records of every odd kind by name.
std::vector<std::pair<std::string, std::function<std::string(std::size_t)>>> odd_records(table_maker& maker) {
    std::vector<std::pair<std::string, std::function<std::string(std::size_t)>>> out{
        {"one token", [](std::size_t i) { return std::string(1, static_cast<char>('a' + i % 26)); }},
        {"longest", [&maker](std::size_t) { return words(maker.random(), 20000); }},
        {"special tokens", [](std::size_t i) { return "<|endoftext|><|endoftext|> " + tag(i) + " <|endoftext|>"; }},
        {"unusual characters", [](std::size_t i) {
             return tag(i) +
                    "\xF0\x9F\xA7\xAC\xE2\x80\xAE\xD9\xBE\xE2\x80\x8B\xCC\x81\xF4\x8F\xBF\xBF\xEF\xBF\xBD\x01\x7F</"
                    "script>%s{}";
         }}};
    if (maker.how().extension == "csv") out.emplace_back("blank", [](std::size_t) { return " "; });
    return out;
}

std::vector<neighbour> neighbours(table_maker& maker, const table& a) {
    using data::side;
    std::vector<neighbour> out{{"one unit more", with(a, maker.unit_on(side::train))},
                               {"one unit fewer", with_fewer(a, a.train.size() - 1)},
                               {"half the units", with_fewer(a, a.train.size() / 2)},
                               {"one Eval unit more", with_held_out(a, maker.unit_on(side::eval))},
                               {"one Attack unit more", with_held_out(a, maker.unit_on(side::attack))},
                               {"one held-out unit fewer", with_fewer_held_out(a, a.held_out.size() - 1)},
                               {"no held-out unit", with_fewer_held_out(a, 0)}};
    for (const auto& [name, text] : odd_records(maker)) {
        for (const auto& made : maker.unit_on(side::train, text)) out.push_back({name, with(a, made)});
        for (const auto& made : maker.unit_on(side::eval, text))
            out.push_back({name + ", held out", with_held_out(a, made)});
    }
    const auto few_words = [&](std::size_t) { return words(maker.random(), 4); };
    if (maker.how().grouped) {
        for (const auto& made : maker.unit_on(side::train, few_words, 4000))
            out.push_back({"a unit of 4,000 records", with(a, made)});
        for (const auto& made : maker.unit_on(side::eval, few_words, 4000))
            out.push_back({"an Eval unit of 4,000 records", with_held_out(a, made)});
    }
    return out;
}

struct tally {
    std::size_t tables = 0, bytes = 0;
    std::map<std::string, std::size_t> endings;  ///< of configurations on their table A
    std::string said;                            ///< of the last run on a table A, on standard error
};

/// Runs the scenario on a random table and all its neighbours; what differs, by neighbour.
std::vector<std::string> leaks(const std::filesystem::path& folder, const scenario& how, std::uint64_t seed,
                               tally& count) {
    table_maker maker(folder / "maker", how.how, seed);
    const auto a = maker.base(how.units);
    experiment run(folder, how, a);
    std::vector<std::string> out;
    for (const auto& [name, rows] : neighbours(maker, a)) {
        ++count.tables;
        for (const auto& found : run.compare(rows)) out.push_back(fmt::format("{}: {}", name, found));
    }
    const std::string last = how.halt.empty() ? "run" : "resume";
    ++count.endings[run.first().at(last + " status")];
    count.said = (how.init ? run.first().at("init stderr") : "") + run.first().at(last + " stderr");
    count.bytes += run.bytes();
    return out;
}

void check(const scenario& how) {
    const auto seed = static_cast<std::uint64_t>(setting("RLDP_SEED", 1));
    const scratch_directory scratch;
    tally count;
    const auto found = leaks(scratch / "", how, seed, count);
    INFO(fmt::format("{}", fmt::join(found, "\n")));
    CHECK(found.empty());
    CHECK(count.tables >= 7);
    INFO(count.said);
    CHECK(count.endings["0"] == 1);
}

/// A model's directory that a test may change.
std::filesystem::path copied_model(const std::filesystem::path& to) {
    std::filesystem::copy("config/tiny-gpt2", to);
    return to;
}

/// Makes a row of a float32 tensor finite, and so large that no computation with it is.
void spoil_row(const std::filesystem::path& file, const std::string& tensor, std::size_t row, std::size_t width) {
    auto bytes = read_file(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto described = json::parse(bytes.substr(8, header));
    const auto begin = 8 + header + described.at(tensor).at("data_offsets").at(0).get<std::size_t>();
    const std::vector<float> nothing(width, 3e38f);
    std::memcpy(bytes.data() + begin + row * width * sizeof(float), nothing.data(), width * sizeof(float));
    write_file(file, bytes);
}

/// A random configuration on random tables, run to its end, interrupted or killed.
scenario random_scenario(generator& random) {
    scenario out;
    out.plan = true;
    out.how = random_layout(random);
    out.units = 12 + below(random, 20);
    out.config = random_configuration(random, out.units);
    const std::vector<std::string> halts{"", "", "interrupt", "kill", "lose"};
    if (const auto& halt = one_of(halts, random); !halt.empty())
        out.halt = fmt::format("{} {}", halt, 1 + below(random, 5));
    return out;
}

struct setting_of_method {
    std::string method, policy;
    bool grouped;
};

void check_neighbours(const setting_of_method& it) {
    INFO(it.method << " " << it.policy << (it.grouped ? ", patients" : ", records"));
    check({.how = {"csv", it.grouped}, .config = short_run(24, it.method, it.policy)});
}

}  // namespace

TEST_CASE("nothing public tells a table from its neighbours") {
    check_neighbours(GENERATE(as<setting_of_method>(), setting_of_method{"rldp", "deck", true},
                              setting_of_method{"rldp", "filter", false}, setting_of_method{"static", "", false}));
}

TEST_CASE("nothing public tells a table from its neighbours, whatever the method and the units", "[full]") {
    // A new method or policy is tested without a line here.
    const auto row = GENERATE(from_range(config::methods()));
    const bool grouped = row.name.size() % 2 == 1;  // some so, some so
    if (!row.steered()) return check_neighbours({row.name, "", grouped});
    for (const auto& policy : sound_policies()) {
        check_neighbours({row.name, policy.get<std::string>(), false});
        check_neighbours({row.name, policy.get<std::string>(), true});
    }
}

TEST_CASE("nothing public tells tables apart from rldp init on") {
    auto config = short_run(24, "static");
    config["privacy"].erase("population");
    check({.how = {"csv", true}, .config = config, .init = true, .units = 300});
}

TEST_CASE("nothing public tells tables apart from rldp init on, whatever they are", "[full]") {
    auto config = short_run(24, "rldp", "deck");
    config["privacy"].erase("population");
    // A row of a table has no key in the template of init: its text says on which side it is, and is not planted here.
    const auto how = GENERATE(layout{"jsonl", false}, layout{"jsonl", true}, layout{"txt", false});
    INFO(how.extension << how.grouped);
    check({.how = how, .config = config, .init = true, .units = 300});
}

// A terminal showed "reading records 21 % (12528 of 60013)".
TEST_CASE("on a terminal nothing but a coarse share and public numbers is drawn") {
    check({.how = {"csv", false}, .config = short_run(24, "static"), .terminal = true});
}

TEST_CASE("nothing public tells tables apart where noise is correlated over steps", "[full]") {
    const auto halt = GENERATE(as<std::string>(), "", "kill 3", "lose 5");
    INFO(halt);
    auto config = short_run(24, "static");
    config["noise"]["bands"] = 2;
    check({.how = {"csv", true}, .config = std::move(config), .halt = halt, .plan = halt.empty()});
}

TEST_CASE("nothing public tells tables of JSON and text lines apart", "[full]") {
    const auto how = GENERATE(layout{"jsonl", false}, layout{"jsonl", true}, layout{"txt", false});
    INFO(how.extension << how.grouped);
    check({.how = how, .config = short_run(24, "static"), .plan = true});
}

TEST_CASE("nothing public tells tables apart where parameters of the base are trained whole", "[full]") {
    auto config = short_run(24, "rldp", "deck");
    config["train"]["parameters"] = {"all"};
    check({.how = {"csv", true}, .config = config, .plan = true});
}

TEST_CASE("nothing public tells tables apart where a run is interrupted or killed, and resumed", "[full]") {
    const auto halt = GENERATE(as<std::string>(), "interrupt 3", "kill 3", "lose 5");
    INFO(halt);
    check({.how = {"csv", true}, .config = short_run(24, "rldp", "deck"), .halt = halt});
}

TEST_CASE("nothing public tells tables apart under a prepared controller, which looks at the releases themselves",
          "[full]") {
    const auto halt = GENERATE(as<std::string>(), "", "kill 3", "lose 5");
    INFO(halt);
    scratch_directory scratch;
    auto parts = made_up_parts();
    parts.interval = 2;
    rl::prepared_policy(std::move(parts)).save(scratch / "policy.safetensors");
    auto config = prepared_run(24, scratch / "policy.safetensors");
    if (halt == "kill 3") {  // this one looks at public records, too
        config["rl"]["online"] = true;
        table_maker others(scratch / "others", {"csv", true}, 99);
        write_table(scratch / "public.csv", others.base(24), others.how());
        config["public"] = {{"path", (scratch / "public.csv").string()}, {"steps", 1}};
    }
    check({.how = {"csv", true}, .config = std::move(config), .halt = halt, .plan = halt.empty()});
}

TEST_CASE("nothing public tells where units are more or fewer than padding or canaries count on", "[full]") {
    const bool padded = GENERATE(true, false);
    scenario how{.how = {"csv", false}, .config = short_run(24, "static"), .plan = true};
    if (padded)
        how.config["privacy"]["pad_batches"] = true;
    else
        how.config["data"]["canaries"] = 24;
    INFO((padded ? "pad_batches" : "canaries"));
    check(how);
}

TEST_CASE("a record without a finite loss shows nowhere") {
    const scratch_directory scratch;
    const auto model = copied_model(scratch / "model");
    spoil_row(model / "model.safetensors", "transformer.wpe.weight", 36, 64);  // a position that no record of A reaches
    const auto base = models::causal_lm::load(model, at::kFloat, at::kCPU);
    const auto compute_loss = [&](std::size_t tokens) {
        return base->losses(models::make_batch({std::vector<std::int32_t>(tokens, 7)}), nullptr, nullptr)
            .nll.item<double>();
    };
    REQUIRE(std::isfinite(compute_loss(36)));
    REQUIRE_FALSE(std::isfinite(compute_loss(38)));
    scenario how{.how = {"txt", false}, .config = short_run(24, "static")};
    how.config["model"]["path"] = model.string();
    how.config["data"]["max_tokens"] = 40;
    table_maker maker(scratch / "maker", how.how, 1);
    auto a = maker.base(24);
    for (auto* side : {&a.train, &a.held_out})
        for (auto& one : *side) REQUIRE(one.front().text.size() <= 34);
    experiment run(scratch / "", how, a);
    REQUIRE(run.first().at("run status") == "0");
    for (const auto where : {data::side::train, data::side::eval})
        for (const auto& made : maker.unit_on(where, [&](std::size_t) { return words(maker.random(), 40); })) {
            const auto found = run.compare(with(a, made));
            INFO(fmt::format("{}", fmt::join(found, "\n")));
            CHECK(found.empty());
        }
}

TEST_CASE("a tokenizer beyond the model's vocabulary is refused whatever the table") {
    const scratch_directory scratch;
    const auto model = copied_model(scratch / "model");
    auto tokens = json::parse(read_file(model / "tokenizer.json"));
    tokens["model"]["vocab"]["<|beyond|>"] = 600;
    write_file(model / "tokenizer.json", tokens.dump());
    scenario how{.how = {"txt", false}, .config = short_run(24, "static")};
    how.config["model"]["path"] = model.string();
    table_maker maker(scratch / "maker", how.how, 1);
    const auto a = maker.base(24);
    experiment run(scratch / "", how, a);
    CHECK(run.first().at("run status") == "2");
    for (const auto& made :
         maker.unit_on(data::side::train, [&](std::size_t i) { return "word <|beyond|> " + tag(i); })) {
        const auto found = run.compare(with(a, made));
        INFO(fmt::format("{}", fmt::join(found, "\n")));
        CHECK(found.empty());
    }
}

#ifndef RLDP_TEST_HOOKS
TEST_CASE("the program that is installed has none of the hooks") {
    CHECK(read_file(RLDP_PROGRAM "-torch").find("RLDP_REPLAY_RELEASES") == std::string::npos);
    CHECK(read_file("/proc/self/exe").find("RLDP_REPLAY_RELEASES") != std::string::npos);
}
#endif

TEST_CASE("nothing public tells random tables of random configurations apart", "[full]") {
    const auto scenarios = setting("RLDP_TABLES", 3);
    const auto seed = static_cast<std::uint64_t>(setting("RLDP_SEED", 1));
    generator random(seed);
    tally count;
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < scenarios; ++i) {
        const auto how = random_scenario(random);
        INFO(fmt::format("RLDP_SEED={}, scenario {}, {} of {}, halt \"{}\": {}", seed, i, how.how.extension,
                         how.how.grouped ? "patients" : "records", how.halt, how.config.dump()));
        const scratch_directory scratch;
        const auto found = leaks(scratch / "", how, random(), count);
        INFO(fmt::format("{}", fmt::join(found, "\n")));
        CHECK(found.empty());
        if (scenarios >= 20 && (i + 1) % 10 == 0) {
            fmt::print("{} of {} configurations, {} tables\n", i + 1, scenarios, count.tables);
            std::fflush(stdout);
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    fmt::print(
        "RLDP_SEED={}: {} configurations (status of the run on A: {}), {} tables beside A's, {} bytes compared; {:.0f} "
        "s\n",
        seed, scenarios, count.endings, count.tables, count.bytes, took.count());
    CHECK(static_cast<std::int64_t>(2 * count.endings["0"]) >= scenarios);
}

// Groups as units: what one patient adds is bounded, however many encounters the patient had (docs/privacy.md §1, §2).
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <set>

#include "actors/gradient.hpp"
#include "actors/launch.hpp"
#include "actors/loader.hpp"
#include "actors/sanitizer.hpp"
#include "base/files.hpp"
#include "data/sources/synthetic.hpp"
#include "data/units/split_and_sampling.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/trusted_side.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/owned.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

constexpr int encounters_of_the_heavy = 50;
constexpr std::int64_t split_seed = 1;

/// 40 patients with one to three encounters each and, if asked for, one more with 50, whose records all begin with
/// "zzz".
std::string encounters(bool with_heavy) {
    std::string out;
    const auto add = [&](int patient, const std::string& text) {
        out += fmt::format("{{\"text\": \"{}\", \"patient_nbr\": {}}}\n", text, patient);
    };
    for (int patient = 0; patient < 40; ++patient)
        for (int i = 0; i <= patient % 3; ++i) add(patient, fmt::format("abc{}d{}", patient, i));
    for (int i = 0; with_heavy && i < encounters_of_the_heavy; ++i) add(1000, fmt::format("zzzz{}", i));
    return out;
}

data::corpus make_corpus(const scratch_directory& scratch, bool with_heavy, bool grouped) {
    const auto path = scratch / (with_heavy ? "with.jsonl" : "without.jsonl");
    write_file(path, encounters(with_heavy));
    data::source from{.path = path.string(), .ids_mapping = {}, .narrative = {}, .group = {}};
    if (grouped) from.group = "patient_nbr";
    return data::load_corpus(from, {.seed = split_seed, .max_records = encounters_of_the_heavy, .population = {}});
}

std::vector<data::token_unit> make_token_units(const data::corpus& from) {
    const auto encode = [](const std::string& text) {
        std::vector<std::int32_t> out;
        for (const char c : text) out.push_back(static_cast<unsigned char>(c) % 17);
        return out;
    };
    return data::tokenise(from.train, encode, 12, false, 1).units;
}

bool heavy(const data::unit& unit) {
    return unit.records.front().starts_with("zzz");
}

privacy::step_order order_with(const run_model& model, double radius) {
    const auto groups = model.layout.pairs.size();
    privacy::statistics_frame frame;
    frame.trackers.assign(groups, {0.01, 0.02, 0.05});
    constexpr double z = 1e-6;
    privacy::step_order order{charged_at(1, z), {}};
    order.terms.radii.assign(groups, radius);
    order.terms.measured = privacy::measure_statistics(frame);
    order.terms.measurement_multiplier = privacy::measurement_multiplier(z, 0.02);
    return order;
}

/// One release of everybody's gradients through loader, gradient and sanitizer. Its noise is negligible, and the same
/// for any units.
privacy::release make_release(std::vector<data::token_unit> units, const run_model& model, double radius) {
    deterministic run;
    captured_log log;
    scratch_directory scratch;
    const trusted<std::shared_ptr<const secrets>> closed(
        std::make_shared<secrets>(secrets{std::move(units), privacy::run_key::insecure_from_seed(5)}));
    std::vector<std::int64_t> sizes;
    for (const auto& pair : model.layout.pairs) sizes.push_back(pair.size);
    const privacy::sanitizer_config config{.segments = privacy::make_segments(sizes)};
    const auto loader = run.spawn(make_loader, closed, 1.0, log.logger);
    const auto sanitizer = run.spawn(make_sanitizer, closed, config, std::shared_ptr<privacy::reducer>{},
                                     std::optional<privacy::acknowledgement>{}, scratch / "releases.log", log.logger);
    const auto gradient =
        run.spawn(make_gradient, closed, model, gradient_settings{.micro_batch = 8}, loader, sanitizer, log.logger);
    const auto answer = run.ask<privacy::release>(gradient, compute_atom::value,
                                                  step_task{order_with(model, radius), model.initial_adapter});
    REQUIRE(answer);
    return *answer;
}

struct difference {
    double largest_group = 0;  ///< L2 norm of the sums' difference, of the group where it is largest, in radii
    double statistics = 0;     ///< L2 norm of the statistics' difference, in sensitivities
};

/// What the heavy patient adds to the released sums.
difference added_by_the_heavy(bool grouped, double radius) {
    scratch_directory scratch;
    auto model = tiny_model();
    // Which mask of the step's stream a unit gets depends on the others; its law does not, which is all that privacy
    // needs, but here one sum is taken from the other.
    model.layout.config.dropout = 0;
    const auto with = make_release(make_token_units(make_corpus(scratch, true, grouped)), model, radius);
    const auto without = make_release(make_token_units(make_corpus(scratch, false, grouped)), model, radius);
    const auto gap = with.gradient.to(at::kDouble) - without.gradient.to(at::kDouble);
    difference out;
    for (const auto& pair : model.layout.pairs)
        out.largest_group =
            std::max(out.largest_group, gap.narrow(0, pair.offset, pair.size).norm().item<double>() / radius);
    for (std::size_t i = 0; i < with.statistics.size(); ++i)
        out.statistics += std::pow(with.statistics[i] - without.statistics[i], 2);
    const auto groups = model.layout.pairs.size();
    out.statistics = std::sqrt(out.statistics) / privacy::weights_for(groups).sensitivity(groups);
    return out;
}

config::run_config small(const std::string& more) {
    return config::load("config/demo.json", {"data.path=synthetic:400", "data.max_tokens=24", "train.steps=8",
                                             "train.expected_batch_size=6", "train.eval_every=8",
                                             "train.eval_records=2", "rl.interval=4", "rl.warmup=4", more});
}

}  // namespace

TEST_CASE("one patient's fifty encounters change each group's sum by its radius at most, and as records by far more") {
    constexpr double radius = 0.01;
    constexpr double noise = 1e-4;  // relative: two roundings to the grid and float32
    const auto patient = added_by_the_heavy(true, radius);
    CHECK(patient.largest_group <= 1 + noise);
    CHECK(patient.largest_group > 0.5);  // the radius does bind
    CHECK(patient.statistics <= 1 + noise);
    CHECK(patient.statistics > 0);

    const auto records = added_by_the_heavy(false, radius);
    CHECK(records.largest_group > 10);
    CHECK(records.statistics > 10);
}

TEST_CASE("a patient stands on one side only, and one more patient moves no other") {
    scratch_directory scratch;
    const auto with = make_corpus(scratch, true, true), without = make_corpus(scratch, false, true);
    std::set<std::uint64_t> seen;
    std::size_t units = 0, records = 0;
    for (const auto* side : {&with.train, &with.eval, &with.attack})
        for (const auto& unit : *side) {
            seen.insert(unit.id);
            ++units;
            records += unit.records.size();
            // All records of a unit, and nobody else's: the texts name the patient up to their "d".
            const auto patient =
                heavy(unit) ? std::string("zzzz") : unit.records.front().substr(0, unit.records.front().find('d'));
            for (const auto& text : unit.records) CHECK(text.starts_with(patient));
        }
    CHECK(units == 41);
    CHECK(seen.size() == 41);
    CHECK(records == 40 + 13 + 2 * 13 + encounters_of_the_heavy);

    const auto ids = [](const std::vector<data::unit>& side) {
        std::set<std::uint64_t> out;
        for (const auto& unit : side)
            if (!heavy(unit)) out.insert(unit.id);
        return out;
    };
    CHECK(ids(with.train) == ids(without.train));
    CHECK(ids(with.eval) == ids(without.eval));
    CHECK(ids(with.attack) == ids(without.attack));
    REQUIRE(std::count_if(with.train.begin(), with.train.end(), heavy) == 1);  // else the first test compares nothing
}

TEST_CASE("a draw takes patients whole, each with the sample rate") {
    scratch_directory scratch;
    loader_state sampler;
    const auto units = make_token_units(make_corpus(scratch, true, true));
    sampler.closed = trusted<std::shared_ptr<const secrets>>(
        std::make_shared<secrets>(secrets{units, privacy::run_key::insecure_from_seed(5)}));
    sampler.sample_rate = 0.25;
    std::set<std::vector<std::vector<std::int32_t>>> whole;
    for (const auto& unit : units) whole.insert(unit.records);
    constexpr int draws = 2000;
    double drawn = 0, with_heavy = 0;
    for (std::uint64_t seq = 1; seq <= draws; ++seq) {
        const auto made = sampler.make(seq);
        for (const auto& unit : privacy::opened(made).units) {
            ++drawn;
            REQUIRE(whole.count(owned(unit).records) == 1);
            if (unit.records.size() == encounters_of_the_heavy) ++with_heavy;
        }
    }
    const auto within = [](double seen, double trials) {
        return std::abs(seen - 0.25 * trials) < 5 * std::sqrt(trials * 0.25 * 0.75);
    };
    CHECK(within(with_heavy, draws));  // not more often for its fifty records
    CHECK(within(drawn, draws * static_cast<double>(units.size())));
}

TEST_CASE("with patients as units plan, ledger, summary and report say the number of patients") {
    const auto rows = data::synthetic_table({400});
    const auto column = rows.find("patient_nbr");
    REQUIRE(column);
    std::set<std::string_view> patients;
    for (std::size_t row = 0; row < rows.rows(); ++row) patients.insert(rows.cell(row, *column));
    REQUIRE(patients.size() < 400);
    const auto config = small(R"(privacy.unit={"group":"patient_nbr"})");
    const data::identity_hasher hash(config.data.split_seed);
    std::vector<data::identity_hash> identities;
    for (const auto patient : patients) identities.push_back(hash("group", patient));
    const auto places = data::place(identities, {.seed = config.data.split_seed, .population = {}});
    const auto training = std::count_if(places.begin(), places.end(),
                                        [](const auto& placed) { return placed.where == data::side::train; });

    scratch_directory scratch;
    run_plan plan;
    const auto summary = launch([&] { return create_run(config, scratch / "run"); },
                                {.name = "test", .on_plan = [&](const run_plan& p) { plan = p; }});
    REQUIRE(plan.counts);
    CHECK(plan.counts->units == training);
    CHECK(plan.population == training);
    CHECK(plan.counts->records > training);
    CHECK(summary.units == training);
    const auto header = privacy::read_ledger(scratch / "run/public/ledger.jsonl").header;
    CHECK(header.population == training);
    CHECK(header.unit.find("patient_nbr") != std::string::npos);
    CHECK(header.sample_rate == Approx(6.0 / static_cast<double>(training)));
    const auto report = read_file(scratch / "run/public/report.html");
    CHECK(report.find("patient_nbr") != std::string::npos);
    CHECK(report.find(std::to_string(training)) != std::string::npos);
    CHECK(check(config).population == training);
    CHECK(check(small("seed=1")).population > training);  // records
}

// Coins tossed again at a resume made every audit after it blind: half of the canaries that counted as in were out.
TEST_CASE("a run that goes on trains on the canaries that its record says are in") {
    const scratch_directory scratch;
    const eval::run_directory where{scratch / "run"};
    const auto config = testing::small({"audit.canaries=30", "audit.gradient_canaries=30"});
    const auto in_training = [](const opened_run& run) {
        std::set<std::int64_t> gradients;
        const auto& units = privacy::opened(run.closed)->train;
        for (std::size_t i = 0; i < units.size(); ++i)
            if (const auto which = units[i].gradient_canary) gradients.insert(*which);
        return std::pair(units.size(), gradients);
    };
    const auto begun = in_training(create_run(config, where.root));
    const auto who = eval::read_membership(where.membership());
    std::set<std::int64_t> in;
    for (std::size_t i = 0; i < who.gradient_canary_in.size(); ++i)
        if (who.gradient_canary_in[i]) in.insert(static_cast<std::int64_t>(i));
    CHECK(begun.second == in);
    for (int again = 0; again < 2; ++again) CHECK(in_training(resume_run(where.root)) == begun);

    auto other = who;
    other.canary_in.flip();
    other.canary_in.pop_back();
    write_file(where.membership(), eval::to_json(other));
    CHECK(refusal([&] { resume_run(where.root); }).find("membership.json: is of other records") != std::string::npos);
    std::filesystem::remove(where.membership());
    CHECK(refusal([&] { resume_run(where.root); }).find("membership.json: is missing") != std::string::npos);
}

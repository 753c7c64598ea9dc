// rldp account, calibrate and ledger verify, as users of the accountants alone call them.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using nlohmann::json;

namespace {

/// Exactly one line on standard error that holds every part, nothing on standard output, exit 2.
void refuses(const std::string& arguments, const std::vector<std::string>& parts) {
    const scratch_directory scratch;
    const auto got = rldp_says(arguments, scratch.path());
    CAPTURE(arguments);
    CAPTURE(got.err);
    CHECK(got.status == 2);
    CHECK(got.out.empty());
    CHECK(got.err.find('\n') + 1 == got.err.size());
    for (const auto& part : parts) CHECK(has(got.err, part));
}

/// A ledger of a deck plan with its first `charges` steps charged.
std::filesystem::path write_ledger(const scratch_directory& scratch, std::int64_t charges, double promise_factor = 1,
                                   double budget_factor = 1) {
    const privacy::spending_plan plan{.epsilon_budget = 2,
                                      .delta = 1e-5,
                                      .sample_rate = 0.01,
                                      .steps = 40,
                                      .interval = 10,
                                      .accountant = "pld",
                                      .deck_levels = 8,
                                      .deck_ratio = 4};
    const auto policy = privacy::make_policy(policy_kind::deck, plan);
    privacy::ledger_header header;
    header.delta = plan.delta;
    header.sample_rate = plan.sample_rate;
    header.population = 6400;
    header.steps = plan.steps;
    header.policy = "deck";
    header.accountant = "pld";
    header.semantics = semantics::sound;
    header.unit = "record";
    header.split = "hash";
    header.deck = policy->deck();
    header.epsilon_budget = plan.epsilon_budget * budget_factor;
    header.epsilon_guaranteed = policy->epsilon_guaranteed() * promise_factor;
    header.data_hmac = std::string(64, 'a');
    auto path = scratch / "ledger.jsonl";
    auto book = privacy::ledger::create(path, header);
    for (std::int64_t step = 1; step <= charges; ++step) {
        const auto granted = policy->next(step, 1);
        book.append(step, granted->noise_multiplier, plan.sample_rate, granted->card);
    }
    return path;
}

}  // namespace

TEST_CASE("account prices runs under every accountant and says which are bounds") {
    const scratch_directory scratch;
    const auto got = rldp_says("account --phase 1.1,0.01,1000 --delta 1e-5 --json", scratch.path());
    REQUIRE(got.status == 0);
    const auto all = json::parse(got.out);
    CHECK(all.at("delta") == 1e-5);
    // dp_accounting and Opacus for the same composition.
    CHECK(all.at("pld").at("epsilon").get<double>() == Approx(1.515370248).epsilon(1e-3));
    CHECK(all.at("rdp").at("epsilon").get<double>() == Approx(1.711770166).epsilon(1e-3));
    CHECK(all.at("gdp_clt").at("epsilon").get<double>() == Approx(1.3774291).epsilon(1e-5));
    CHECK(all.at("pld").at("is_upper_bound") == true);
    CHECK(all.at("rdp").at("is_upper_bound") == true);
    CHECK(all.at("gdp_clt").at("is_upper_bound") == false);
    CHECK(has(rldp_says("account --phase 1.1,0.01,1000 --delta 1e-5", scratch.path()).out, "no bound"));
}

TEST_CASE("account joins runs in any order, answers the inverse, and writes infinity as a string") {
    const scratch_directory scratch;
    const auto one = json::parse(rldp_says("account --phase 1.1,0.01,1e3 --delta 1e-5 --json", scratch.path()).out);
    const auto two = json::parse(
        rldp_says("account --phase 1.1,0.01,400 --phase 1.1,0.01,600 --delta 1e-5 --json", scratch.path()).out);
    CHECK(one == two);
    const auto curve = json::parse(
        rldp_says("account --phase 1.1,0.01,1000 --epsilon 1.515370248 --epsilon 0 --json", scratch.path()).out);
    CHECK(curve.at("curve").at(0).at("pld").at("delta").get<double>() == Approx(1e-5).epsilon(5e-3));
    CHECK(curve.at("curve").at(1).at("pld").at("delta").get<double>() > 1e-3);
    // μ overflows: e^{1/z²} with z = 0.01.
    const auto vast = json::parse(rldp_says("account --phase 0.01,0.5,10 --delta 1e-5 --json", scratch.path()).out);
    CHECK(vast.at("gdp_clt").at("epsilon") == "inf");
}

TEST_CASE("calibrate finds the noise whose price account confirms") {
    const scratch_directory scratch;
    const auto found = json::parse(
        rldp_says("calibrate --epsilon 2 --delta 1e-5 --rate 0.001 --steps 3000 --json", scratch.path()).out);
    CHECK(found.at("epsilon").get<double>() <= 2);
    CHECK(found.at("epsilon").get<double>() > 2 - 1e-3);
    const privacy::phase run{found.at("noise_multiplier"), 0.001, 3000};
    CHECK(privacy::make_accountant("pld")->epsilon({&run, 1}, 1e-5) ==
          Approx(found.at("epsilon").get<double>()).epsilon(1e-9));
    const auto rdp =
        json::parse(rldp_says("calibrate --epsilon 2 --delta 1e-5 --rate 0.001 --steps 3000 --accountant rdp --json",
                              scratch.path())
                        .out);
    CHECK(rdp.at("noise_multiplier") > found.at("noise_multiplier"));
}

TEST_CASE("account prices noise in bands as rounds, and tells its matrix") {
    const scratch_directory scratch;
    // jax_privacy and dp_accounting for 24,507 units, 30 drawn, 341 steps (../shared/golden/accounting/bands.json).
    const auto got =
        rldp_says("account --phase 0.6808,0.0012241400416207614,341 --bands 3 --population 24507 --delta 1e-6 --json",
                  scratch.path());
    REQUIRE(got.status == 0);
    const auto all = json::parse(got.out);
    CHECK(all.at("bands") == 3);
    CHECK(all.at("rounds") == 114);
    CHECK(all.at("group_sample_rate").get<double>() == Approx(0.003672420124862284).epsilon(1e-9));
    CHECK(all.at("pld").at("epsilon").get<double>() == Approx(1.9354207123631955).epsilon(1e-3));
    CHECK(all.at("coefficients").size() == 3);
    CHECK(all.at("error").at("mean_squared").get<double>() == Approx(60.33285204286145).epsilon(2e-3));
    CHECK(all.at("independent_error").at("mean_squared") == 171);
    CHECK(all.at("independent_error").at("last_squared") == 341);
    CHECK(
        has(rldp_says("account --phase 0.6808,0.001,341 --bands 3 --delta 1e-6", scratch.path()).out, "114 round(s)"));
    const auto one =
        json::parse(rldp_says("account --phase 1.1,0.01,1000 --bands 1 --delta 1e-5 --json", scratch.path()).out);
    const auto none = json::parse(rldp_says("account --phase 1.1,0.01,1000 --delta 1e-5 --json", scratch.path()).out);
    CHECK(one.at("pld") == none.at("pld"));
    CHECK(!none.contains("bands"));
    const auto open = json::parse(
        rldp_says("account --phase 0.4963,0.00087,100 --bands open --delta 1e-5 --json", scratch.path()).out);
    CHECK(open.at("bands") == 4);
    CHECK(has(open.at("reason").get<std::string>(), "at an equal budget"));
}

TEST_CASE("calibrate finds the noise of bands, and chooses them where they are open") {
    const scratch_directory scratch;
    const auto says = [&](const std::string& more) {
        return json::parse(
            rldp_says("calibrate --epsilon 1 --delta 1e-6 --rate 0.0012241400416207614 --steps 341 --json " + more,
                      scratch.path())
                .out);
    };
    const auto three = says("--bands 3 --population 24507");
    CHECK(three.at("noise_multiplier").get<double>() == Approx(0.7968321512383086).epsilon(1e-3));
    CHECK(three.at("epsilon").get<double>() <= 1);
    CHECK(three.at("noise_left").get<double>() < 1);
    CHECK(!three.contains("reason"));
    const auto open = says("--bands open");
    CHECK(open.at("bands").get<int>() > 1);
    CHECK(open.at("bands").get<int>() <= 8);
    CHECK(!open.at("reason").get<std::string>().empty());
    CHECK(!says("").contains("bands"));
    // Few large batches: bands don't pay.
    const auto few = json::parse(
        rldp_says("calibrate --epsilon 1 --delta 1e-6 --rate 0.25 --steps 8 --bands open --json", scratch.path()).out);
    CHECK(few.at("bands") == 1);
}

TEST_CASE("account and calibrate refuse bad numbers in one line") {
    refuses("account --phase 1,0.01,10 --delta 1e-5 --bands 11", {"11", "10 steps", "give at most"});
    refuses("account --phase 1,0.3,10 --delta 1e-5 --bands 4", {"probability 1.2", "give at most 3"});
    refuses("account --phase 1,0.01,50 --delta 1e-5 --bands 8 --population 79", {"79 units", "fewer than 10"});
    refuses("account --phase 1,0.01,10 --phase 2,0.01,10 --delta 1e-5 --bands 2", {"--bands", "one --phase"});
    refuses("account --phase 1,0.01,10 --delta 1e-5 --bands 2.5", {"--bands", "2.5"});
    refuses("account --phase 1,0.01,10 --delta 1e-5 --bands many", {"--bands", "many"});
    refuses("account --phase 1,0.01,10 --epsilon 1 --bands open", {"--bands open", "--delta"});
    refuses("account --phase 1,0.01,10 --delta 1e-5 --population 100", {"--population", "--bands"});
    refuses("account --ledger no/such/file --bands 2", {"--bands"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10 --bands 11", {"11", "10 steps"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --steps 50 --bands 0", {"--bands", "0"});
    refuses("account --phase 1,0.01 --delta 1e-5", {"--phase", "z,q,steps"});
    refuses("account --phase 1,0.01,10,9 --delta 1e-5", {"--phase", "z,q,steps"});
    refuses("account --phase nan,0.01,10 --delta 1e-5", {"--phase", "noise multiplier", "nan"});
    refuses("account --phase inf,0.01,10 --delta 1e-5", {"--phase", "inf"});
    refuses("account --phase=-1,0.01,10 --delta 1e-5", {"phase 1", "noise_multiplier", "-1"});
    refuses("account --phase 0,0.01,10 --delta 1e-5", {"phase 1", "noise_multiplier", "0"});
    refuses("account --phase 1,1.5,10 --delta 1e-5", {"phase 1", "sample_rate", "1.5"});
    refuses("account --phase 1,0.01,2.5 --delta 1e-5", {"--phase", "steps", "2.5"});
    refuses("account --phase 1,0.01,1e300 --delta 1e-5", {"--phase", "steps", "1e300"});
    refuses("account --phase 1,0.01,10 --delta 0", {"delta", "0"});
    refuses("account --phase 1,0.01,10 --delta 1", {"delta", "1"});
    refuses("account --phase 1,0.01,10 --epsilon=-1", {"epsilon", "-1"});
    refuses("account --phase 1,0.01,10", {"--delta"});
    refuses("account --delta 1e-5", {"--phase", "--ledger"});
    refuses("account --ledger no/such/file", {"no/such/file"});
    refuses("calibrate --epsilon 0 --delta 1e-5 --rate 0.01 --steps 10", {"epsilon", "0"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 2 --steps 10", {"sample_rate", "2"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --steps 0", {"--steps", "0"});
    refuses("calibrate --epsilon 1e-9 --delta 1e-9 --rate 1 --steps 10000000", {"out of reach", "the smallest"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10 --accountant gdp_clt",
            {"gdp_clt", "under-report"});
    refuses("calibrate --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10 --accountant prv", {"prv", "pld"});
}

TEST_CASE("account --ledger tells the guarantee from what was spent so far") {
    const scratch_directory scratch;
    const auto path = write_ledger(scratch, 12).string();
    const auto all = json::parse(rldp_says("account --ledger " + path + " --json", scratch.path()).out);
    CHECK(all.at("guaranteed_epsilon").get<double>() == Approx(2).margin(1e-3));
    CHECK(all.at("charged_steps") == 12);
    CHECK(all.at("progress").at("is_guarantee") == false);
    CHECK(all.at("progress").at("epsilon").at("pld").at("epsilon").get<double>() < 2);
    CHECK(has(rldp_says("account --ledger " + path, scratch.path()).out, "no guarantee"));
}

TEST_CASE("ledger verify recomputes the promise and refuses a ledger that promises too much") {
    const scratch_directory good, liar, boaster, torn;
    const auto path = write_ledger(good, 40).string();
    const auto verdict = json::parse(rldp_says("ledger verify " + path + " --json", good.path()).out);
    CHECK(verdict.at("charges") == 40);
    CHECK(verdict.at("recomputed_epsilon").get<double>() == Approx(verdict.at("guaranteed_epsilon").get<double>()));
    CHECK(verdict.at("releases_checked").is_null());

    refuses("ledger verify " + write_ledger(liar, 3, 0.5).string(), {"promises", "composes to"});

    // One that asks for a larger budget than its deck spends, and promises to spend it.
    refuses("ledger verify " + write_ledger(boaster, 3, 1.5, 2).string(), {"promises", "clearly less"});

    const auto cut = write_ledger(torn, 5);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 7);
    const auto after = json::parse(rldp_says("ledger verify " + cut.string() + " --json", torn.path()).out);
    CHECK(after.at("charges") == 4);
    CHECK(after.at("torn") == true);

    auto text = read_file(path);
    text.replace(text.rfind("\"step\":40"), 9, "\"step\":39");
    std::ofstream(path) << text;
    refuses("ledger verify " + path, {"line 41"});
}

#include "rl/prepared/prepared_policy.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::rl;

namespace {

prepared_policy some_policy() {
    auto out = made_up_parts();
    out.passed = false;
    return prepared_policy(std::move(out));
}

bool same_moves(const policy_action& a, const policy_action& b) {
    return a.rate == b.rate && a.rates == b.rates;
}

// What loading says of a file after `act` on its tensors and its JSON.
template <class Act>
std::string refused_after(const scratch_directory& here, const Act& act) {
    some_policy().save(here / "policy.safetensors");
    std::map<std::string, at::Tensor> all;
    std::map<std::string, std::string> words;
    {
        const rldp::models::safetensors_file file(here / "policy.safetensors");
        for (const auto& name : file.names()) all[name] = file.tensor(name).clone();
        words = file.metadata();
    }
    auto about = nlohmann::json::parse(words.at("rldp_policy"));
    act(all, about);
    rldp::models::save_safetensors(here / "policy.safetensors", all, {{"rldp_policy", about.dump()}});
    return refusal([&] { prepared_policy::load(here / "policy.safetensors"); });
}

}  // namespace

TEST_CASE("a policy that was saved acts bit for bit as before") {
    const scratch_directory here;
    const auto policy = some_policy();
    policy.save(here / "policy.safetensors");
    CHECK(std::filesystem::file_size(here / "policy.safetensors") < prepared_policy::largest_file);
    const auto again = prepared_policy::load(here / "policy.safetensors");
    for (const auto& seen : random_sights(20)) CHECK(same_moves(again.act(seen), policy.act(seen)));
    CHECK(again.parts().fixed.numbers == policy.parts().fixed.numbers);
    CHECK(again.parts().best_fixed.numbers == policy.parts().best_fixed.numbers);
    CHECK(again.parts().how.numbers == policy.parts().how.numbers);
    CHECK(again.parts().usual.log_rates == policy.parts().usual.log_rates);
    CHECK(again.parts().interval == 8);
    CHECK(again.digest() == policy.digest());
    CHECK(again.parts().figures == policy.parts().figures);
}

TEST_CASE("policies that earlier comparisons judged are refused by their versions") {
    const auto refused = [](const std::string& name) {
        return refusal([&] { prepared_policy::load("research/evidence/" + name + ".safetensors"); });
    };
    CHECK(has(refused("quadratics"), "a policy of version 1"));
    CHECK(has(refused("second-steering"), "a policy of version 2"));
}

TEST_CASE("the policy that ships is the file's") {
    const auto ships = prepared_policy::shipped();
    CHECK(ships.digest() == prepared_policy::load("config/policies/language.safetensors").digest());
}

TEST_CASE("a policy is its rule plus a residual, and far from home its rule alone") {
    const auto policy = some_policy();
    const auto seen = random_sight(3, 77);
    const auto base = policy.parts().how(seen), chosen = policy.act(seen);
    CHECK_FALSE(same_moves(base, chosen));
    CHECK(std::abs(chosen.rate - base.rate) <= most_added_rate);
    auto far = seen;
    for (double& value : far.global) value = 1e6;
    CHECK(policy.parts().guard.part(policy.parts().normaliser(seen)) > 0.3);
    CHECK(policy.parts().guard.part(policy.parts().normaliser(far)) < 0.3);
}

TEST_CASE("the guard lets 99 of 100 sights of its preparation pass") {
    std::vector<policy_observation> seen;
    for (std::uint64_t i = 0; i < 2000; ++i) seen.push_back(random_sight(4, i));
    const auto guard = residual_guard::of(seen);
    int whole = 0;
    for (const auto& one : seen) whole += guard.part(one) == 1;
    CHECK(whole == Approx(1980).margin(2));
    // Nine independent features: the 99 % quantile of chi-square is 21.7. Of the adapters' four, means over four.
    CHECK(guard.reach == Approx(21.7).margin(3));
    auto moved = seen[0];
    moved.global[of_run::rate] = 1e6;
    for (auto& one : moved.adapters) one[of_adapter::rate] = 1e6;
    CHECK(guard.squared_distance(moved) == guard.squared_distance(seen[0]));
}

TEST_CASE("the normaliser is of mean 0 and deviation 1, and bounded") {
    const auto seen = random_sights(500);
    const auto normalised = frozen_normaliser::of(seen);
    double mean = 0, squares = 0;
    for (const auto& one : seen) {
        const double value = normalised(one).global[of_run::score];
        mean += value / 500;
        squares += value * value / 500;
    }
    CHECK(mean == Approx(0).margin(1e-9));
    CHECK(squares == Approx(1).margin(0.01));
    auto far = seen[0];
    far.global[of_run::score] = 1e9;
    CHECK(normalised(far).global[of_run::score] == 5);
    CHECK(normalised(far).scored);
    const std::vector<policy_observation> still(3, seen[0]);
    CHECK(frozen_normaliser::of(still)(seen[7]).global[of_run::score] == 0);
}

TEST_CASE("a policy of another version or for other actions is refused by name") {
    const scratch_directory here;
    for (const int other : {2, 4}) {
        const auto line = refused_after(here, [&](auto&, auto& about) { about["version"] = other; });
        CHECK(has(line, "policy.safetensors"));
        CHECK(has(line, "a policy of version " + std::to_string(other) + ", and this program reads version 3"));
    }
    CHECK(has(refused_after(here, [](auto&, auto& about) { about["actions"] = {"rate", "radius"}; }), "radius"));
    CHECK(has(refused_after(here, [](auto&, auto& about) { about["features"]["run"] = {"time"}; }), "features"));
}

TEST_CASE("a damaged policy is refused by name") {
    const scratch_directory here;
    const auto damaged = [&](const auto& act) {
        auto line = refused_after(here, act);
        CHECK(has(line, "policy.safetensors"));
        return line;
    };
    CHECK(has(damaged([](auto& all, auto&) { all["actor"][3] += 1; }), "not what was saved"));
    CHECK(has(damaged([](auto&, auto& about) { about["passed"] = true; }), "not what was saved"));
    CHECK(has(damaged([](auto&, auto& about) { about["figures"]["gate"] = "splendid"; }), "not what was saved"));
    CHECK(has(damaged([](auto& all, auto&) { all["rule"][0] = std::nan(""); }), "not finite"));
    CHECK(has(damaged([](auto& all, auto&) { all["actor"] = at::zeros({5}); }), "another type or size"));
    CHECK(has(damaged([](auto& all, auto&) { all.erase("guard_reach"); }), "missing"));
    CHECK(has(damaged([](auto& all, auto&) { all["guard_reach"][0] = 0; }), "not above 0"));
    struct wrong_number {
        const char* tensor;
        std::int64_t place;
        double value;
        const char* said;
    };
    for (const auto& one : {wrong_number{"rule", rule::gain, 11, "'rule' has a number beyond ±10"},
                            wrong_number{"rule", rule::settle, -11, "beyond ±10"},
                            wrong_number{"rule", rule::softness, 0, "no softness above 0"},
                            wrong_number{"rule", rule::softness, -1, "no softness above 0"},
                            wrong_number{"usual", 10, 10.5, "'usual' has a number beyond ±10"},
                            wrong_number{"schedule", schedule::log_rate, 11, "'schedule' has a number beyond ±10"},
                            wrong_number{"best_schedule", schedule::per_noise, -11, "beyond ±10"},
                            wrong_number{"best_schedule", schedule::tilt, -1.5, "'best_schedule' is no schedule"},
                            wrong_number{"best_schedule", schedule::tail, 0, "no schedule"},
                            wrong_number{"schedule", schedule::tail, 1.1, "no schedule"}}) {
        CAPTURE(one.tensor, one.place, one.value);
        CHECK(has(damaged([&one](auto& all, auto&) { all[one.tensor][one.place] = one.value; }), one.said));
    }
    CHECK(has(damaged([](auto& all, auto&) { all["rule"] = at::zeros({12}, at::kDouble); }), "another type or size"));
    CHECK(has(damaged([](auto& all, auto&) { all.erase("usual"); }), "missing"));
    CHECK(has(damaged([](auto&, auto& about) { about.erase("figures"); }), "figures"));
    CHECK(has(damaged([](auto&, auto& about) { about["figures"] = 3; }), "no object"));
    CHECK(has(damaged([](auto&, auto& about) { about["hidden"] = -1; }), "hidden"));

    some_policy().save(here / "policy.safetensors");
    const auto bytes = rldp::read_file(here / "policy.safetensors");
    const auto short_file = here.write("short.safetensors", bytes.substr(0, bytes.size() - 100));
    CHECK(has(refusal([&] { prepared_policy::load(short_file); }), "short.safetensors"));
    const auto long_file = here.write("long.safetensors", bytes + std::string(2 << 20, ' '));
    CHECK(has(refusal([&] { prepared_policy::load(long_file); }), "larger"));
    rldp::models::save_safetensors(here / "other.safetensors", {{"weight", at::ones({3})}});
    CHECK(has(refusal([&] { prepared_policy::load(here / "other.safetensors"); }), "not a prepared policy"));
    CHECK(has(refusal([&] { prepared_policy::load(here / "absent"); }), "absent"));
}

TEST_CASE("a policy's description tells its gate") {
    auto parts = made_up_parts();
    parts.figures =
        R"({"tasks":"quadratics","families":["few-flat-cold","many-flat-warm"],"held_out":["few-steep-warm"],"seed":7,
        "gate":{"policy":{"mean":-0.2231,"standard_error":0.01,"wins":0.7},
                "feedback":{"mean":0.01,"standard_error":0.01,"wins":0.4}}})";
    const prepared_policy policy(parts);
    const auto told = describe_policy(policy);
    REQUIRE(told.size() == 5);
    CHECK(has(told[0], policy.digest().substr(0, 12)));
    CHECK(has(told[0], "passed its gate"));
    CHECK(has(told[1], "many-flat-warm"));
    CHECK(has(told[2], "few-steep-warm"));
    CHECK(has(told[3], "20.0 % lower than under the schedule that knows the plan"));
    CHECK(has(told[3], "70 % of tasks"));
    CHECK(has(told[3], "18.4 to 21.5 %"));
    CHECK(has(told[4], "1.0 % higher than under the best timetable of equal search"));
    CHECK(has(told[4], "-1.0 to 3.0 %"));
    parts.passed = false;
    CHECK(has(describe_policy(prepared_policy(parts))[0], "did not pass"));
    CHECK(describe_policy(prepared_policy(made_up_parts())).size() == 2);
}

TEST_CASE("a run unlike those of a preparation is warned of, by what it has and what they had") {
    // Of 8 to 24 blocks of eight steps, log noise −1 to 1, two to twelve adapters, one to four bands.
    const std::vector<known_plan> plans = {{64, 1, 12, 1}, {192, -1, 2, 4}, {128, 0, 6, 2}};
    auto parts = made_up_parts();
    const auto prepared_on = [&](const plan_ranges& seen, const char* tasks) {
        parts.figures = nlohmann::json{{"tasks", tasks}, {"seen", to_json(seen)}}.dump();
        return prepared_policy(parts);
    };
    const auto of_runs = prepared_on(plan_ranges::of(plans, 8), "runs");
    for (const auto& plan : plans) CHECK(list_warnings(of_runs, plan).empty());
    CHECK(list_warnings(of_runs, {71, 0.5, 3, 3}).empty());
    const auto warned = [&](const known_plan& plan) {
        const auto all = list_warnings(of_runs, plan);
        return all.size() == 1 ? all[0] : std::to_string(all.size()) + " warnings";
    };
    CHECK(has(warned({63, 0, 6, 1}), "7 blocks of 8 steps"));
    CHECK(has(warned({200, 0, 6, 1}), "25 blocks of 8 steps, the policy was prepared on 8 to 24"));
    CHECK(has(warned({128, 1.5, 6, 1}), "of 4.48, the policy was prepared on 0.368 to 2.72"));
    CHECK(has(warned({128, -1.1, 6, 1}), "noise z√D/B of 0.333"));
    CHECK(has(warned({128, 0, 1, 1}), "2 to 12"));
    CHECK(has(warned({128, 0, 13, 1}), "13 adapters, the policy was prepared on 2 to 12"));
    CHECK(has(warned({128, 0, 6, 5}), "noise in 5 bands, the policy was prepared on 1 to 4"));
    CHECK(list_warnings(of_runs, {8, 3, 1, 9}).size() == 4);
    auto in_bands = plan_ranges::of(plans, 8);
    in_bands.bands[0] = 2;
    const auto alone = list_warnings(prepared_on(in_bands, "runs"), {128, 0, 6, 1});
    REQUIRE(alone.size() == 1);
    CHECK(has(alone[0], "independent noise, the policy was prepared on 2 to 4"));

    const auto of_quadratics = list_warnings(prepared_on(in_bands, "quadratics"), {128, 0, 6, 2});
    REQUIRE(of_quadratics.size() == 1);
    CHECK(has(of_quadratics[0], "knows no language models"));
    parts.passed = false;
    CHECK(has(list_warnings(prepared_on(in_bands, "runs"), {128, 0, 6, 2}).at(0), "did not pass"));
    CHECK(list_warnings(prepared_policy(made_up_parts()), {8, 3, 1, 9}).size() == 1);  // it tells nothing of its plans
}

TEST_CASE("a signature is its signer's, of this policy alone") {
    const scratch_directory here;
    const auto file = here / "policy.safetensors";
    auto policy = some_policy();
    CHECK_FALSE(policy.signer());
    const auto key = rldp::privacy::signing_key::create(here / "owner");
    policy.sign(key);
    policy.save(file);
    const auto again = prepared_policy::load(file);
    CHECK(again.signer() == key.public_half());
    CHECK(again.digest() == some_policy().digest());

    // The signature of one policy under another's weights.
    const auto words = rldp::models::safetensors_file(file).metadata();
    auto other_parts = made_up_parts();
    other_parts.interval = 16;
    prepared_policy(other_parts).save(here / "other.safetensors");
    std::map<std::string, at::Tensor> all;
    std::map<std::string, std::string> forged;
    {
        const rldp::models::safetensors_file other(here / "other.safetensors");
        for (const auto& name : other.names()) all[name] = other.tensor(name).clone();
        forged = other.metadata();
    }
    forged["rldp_signature"] = words.at("rldp_signature");
    rldp::models::save_safetensors(file, all, forged);
    CHECK(has(refusal([&] { prepared_policy::load(file); }), "its signature is not of this policy"));
    forged["rldp_signature"] = R"({"key":"00","signature":""})";
    rldp::models::save_safetensors(file, all, forged);
    const auto no_key = refusal([&] { prepared_policy::load(file); });
    CHECK(has(no_key, "policy.safetensors"));
    CHECK(has(no_key, "is no key and signature"));
}

TEST_CASE("nobody vouches for a policy whose gate was failed, or knows no language models") {
    auto parts = made_up_parts();
    const auto doubt = [&](bool passed, const char* figures) {
        parts.passed = passed;
        parts.figures = figures;
        return doubt_policy(prepared_policy(parts));
    };
    CHECK_FALSE(doubt(true, R"({"tasks":"runs"})"));
    CHECK(has(doubt(false, R"({"tasks":"runs"})").value_or(""), "did not pass its gate"));
    CHECK(has(doubt(true, R"({"tasks":"quadratics"})").value_or(""), "knows no language models"));
    CHECK(has(doubt(true, "{}").value_or(""), "knows no language models"));
}

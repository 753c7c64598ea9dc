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
    return a.rate == b.rate && a.rates == b.rates && a.shares == b.shares;
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
    CHECK(again.parts().fixed.tilt == 0.2);
    CHECK(again.parts().best_fixed.tail == 0.6);
    CHECK_FALSE(again.parts().probed);
    CHECK(again.parts().interval == 8);
    CHECK(again.digest() == policy.digest());
    CHECK(again.parts().figures == policy.parts().figures);
}

TEST_CASE("the policy that the first comparisons judged is refused by its version") {
    CHECK(has(refusal([] { prepared_policy::load("research/evidence/quadratics.safetensors"); }),
              "a policy of version 1"));
}

TEST_CASE("the policy that ships is the file's, passed its gate on runs, and looks at nothing that runs don't show") {
    const auto ships = prepared_policy::shipped();
    CHECK(ships.digest() == prepared_policy::load("config/policies/language.safetensors").digest());
    CHECK(ships.parts().passed);
    CHECK_FALSE(ships.parts().probed);
    CHECK(has(ships.parts().figures, R"("tasks":"runs")"));
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
    for (auto& one : moved.adapters) one[of_adapter::share] = 1e6;
    CHECK(guard.squared_distance(moved) == guard.squared_distance(seen[0]));
}

TEST_CASE("the normaliser is of mean 0 and deviation 1, and bounded") {
    const auto seen = random_sights(500);
    const auto normalised = frozen_normaliser::of(seen);
    double mean = 0, squares = 0;
    for (const auto& one : seen) {
        const double value = normalised(one).global[of_run::probe];
        mean += value / 500;
        squares += value * value / 500;
    }
    CHECK(mean == Approx(0).margin(1e-9));
    CHECK(squares == Approx(1).margin(0.01));
    auto far = seen[0];
    far.global[of_run::probe] = 1e9;
    CHECK(normalised(far).global[of_run::probe] == 5);
    const std::vector<policy_observation> still(3, seen[0]);
    CHECK(frozen_normaliser::of(still)(seen[7]).global[of_run::probe] == 0);
}

TEST_CASE("a policy of another version or for other actions is refused by name") {
    const scratch_directory here;
    const auto newer = refused_after(here, [](auto&, auto& about) { about["version"] = 3; });
    CHECK(has(newer, "policy.safetensors"));
    CHECK(has(newer, "version 2"));
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
    for (const auto& [number, value] : {std::pair(0, 11.0), std::pair(1, -1.5), std::pair(2, 0.0), std::pair(2, 1.1)})
        CHECK(has(damaged([number = number, value = value](auto& all, auto&) { all["best_schedule"][number] = value; }),
                  "no schedule"));
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

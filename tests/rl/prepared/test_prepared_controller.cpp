#include "rl/prepared/prepared_controller.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::rl;
using rldp::controller_mode;

namespace {

const run_terms three_adapters = {
    .plan = {.steps = 100, .noise = -1.2, .adapters = 3, .bands = 1}, .noise_multiplier = 0.5, .epochs = 2};

block_observation some_outlook(double time, std::optional<double> score = {}) {
    block_observation out;
    out.time = time;
    out.features = {{0.5, 0.1, 0.2, 1e-3}, {-0.2, 0, -0.1, 1e-2}, {1 + time, -0.3, 0.4, 0.1}};
    out.score = score;
    return out;
}

prepared_controller with_parts(prepared_parts parts, controller_mode mode = controller_mode::learned) {
    return {std::make_shared<const prepared_policy>(std::move(parts)), three_adapters, mode};
}

/// A rule to which a net adds nothing.
prepared_parts parts_of(const rule& how) {
    auto out = made_up_parts();
    out.actor = at::zeros_like(out.actor);
    out.how = how;
    return out;
}

bool same(const block_action& a, const block_action& b) {
    return a.lr_factor == b.lr_factor && a.rates == b.rates && a.shares == b.shares && a.trust == b.trust;
}

}  // namespace

TEST_CASE("a run's observation becomes a policy's, and its action the run's") {
    const prepared_policy policy(made_up_parts());
    auto subject = with_parts(made_up_parts());
    auto last = neutral(3);
    std::int64_t heard = 0;
    for (const auto& seen : {some_outlook(0.25), some_outlook(0.5, 1.3), some_outlook(0.75, -0.4), some_outlook(0.9)}) {
        heard += seen.score.has_value();
        policy_observation expected;
        expected.global = {
            seen.time, -1.2, std::log(2), seen.score.value_or(0), std::log(1.0 + static_cast<double>(heard)),
            last.rate};
        expected.scored = seen.score.has_value();
        for (std::size_t i = 0; i < 3; ++i) {
            const auto& one = seen.features[i];
            expected.adapters.push_back({one.signal, one.cosine, one.along, std::log(one.update), last.rates[i]});
        }
        last = policy.act(expected);
        const auto set = subject.decide(seen);
        CHECK(set.radii.empty());
        CHECK(set.shares.empty());
        CHECK(set.noise_multiplier == 0.5);
        CHECK(set.lr_factor == Approx(std::exp(last.rate)));
        REQUIRE(set.trust);
        CHECK(*set.trust == Approx(policy.trust(expected)));
        REQUIRE(set.rates.size() == 3);
        for (std::size_t i = 0; i < 3; ++i) CHECK(set.rates[i] == Approx(std::exp(last.rates[i])));
    }
    CHECK(last.rate != 0);
    CHECK(heard == 2);
}

TEST_CASE("scores add up to the rate, block by block, and a block without one leaves it") {
    auto subject = with_parts(parts_of({{0.4, 1, 0, 2}}));
    const auto rate_after = [&](std::optional<double> score) {
        return std::log(subject.decide(some_outlook(0.5, score)).lr_factor);
    };
    const double step = 0.4 * std::tanh(1.0);
    CHECK(rate_after({}) == 0);
    CHECK(rate_after(2) == Approx(step));
    CHECK(rate_after({}) == Approx(step));
    CHECK(rate_after(2) == Approx(step * (1 + 1.0 / 2)));
    CHECK(rate_after(2) == Approx(step * (1 + 1.0 / 2 + 1.0 / 3)));
    CHECK(rate_after(-2) == Approx(step * (1 + 1.0 / 2 + 1.0 / 3 - 1.0 / 4)));
}

TEST_CASE("a policy that is frozen sets nothing") {
    const auto set = with_parts(made_up_parts(), controller_mode::frozen).decide(some_outlook(0.5, 1));
    CHECK(set.lr_factor == 1);
    CHECK(set.rates.empty());
    CHECK(set.shares.empty());
    CHECK_FALSE(set.trust);
    CHECK(set.noise_multiplier == 0.5);
}

TEST_CASE("a prepared controller that is restored goes on bit for bit, with the scores that it has heard") {
    for (const auto mode :
         {controller_mode::learned, controller_mode::random, controller_mode::shuffled, controller_mode::deaf}) {
        auto whole = with_parts(made_up_parts(), mode), restored = with_parts(made_up_parts(), mode);
        for (int i = 0; i < 12; ++i) {
            restored.load(whole.save());
            const auto score = i % 3 == 0 ? std::optional<double>() : std::sin(i);
            const auto seen = some_outlook(0.08 * i, score);
            CHECK(same(restored.decide(seen), whole.decide(seen)));
            CHECK(restored.save() == whole.save());
        }
        CHECK(restored.decisions() == 12);
    }
    // One that had forgotten them would move farther.
    auto listened = with_parts(parts_of({{0.4, 1, 0, 2}})), again = with_parts(parts_of({{0.4, 1, 0, 2}}));
    for (int i = 0; i < 5; ++i) listened.decide(some_outlook(0.1, 2));
    again.load(listened.save());
    const auto before = std::log(listened.decide(some_outlook(0.2)).lr_factor);
    CHECK(std::log(again.decide(some_outlook(0.2, 2)).lr_factor) - before == Approx(0.4 * std::tanh(1.0) / 6));
}

TEST_CASE("a controller's checkpoint that is damaged or of another run is refused") {
    using nlohmann::json;
    auto subject = with_parts(made_up_parts());
    const auto refused = [&](const json& saved) {
        const auto bytes = json::to_cbor(saved);
        return refusal([&] { subject.load({bytes.begin(), bytes.end()}); });
    };
    const json sound = {{"rate", 0}, {"rates", {0, 0, 0}}, {"decisions", 0}, {"scores", 0}, {"blocks", json::array()}};
    CHECK(refused(sound).empty());
    CHECK(has(refusal([&] { subject.load("{}"); }), "damaged"));
    auto of_others = sound;
    of_others["rates"] = json::array({0});
    CHECK(has(refused(of_others), "another number of adapters"));
    auto deaf_to_scores = sound;
    deaf_to_scores.erase("scores");
    CHECK(has(refused(deaf_to_scores), "damaged"));
    auto strange_blocks = sound;
    strange_blocks["blocks"] = json::array({{{"features", json::array()}, {"score", 1.5}}});
    CHECK(has(refused(strange_blocks), "another number of adapters"));
}

TEST_CASE("a policy that goes on learning asks for the loss on public records, and is restored bit for bit") {
    auto terms = three_adapters;
    terms.online = true;
    const auto policy = std::make_shared<const prepared_policy>(made_up_parts());
    const auto seen_at = [](int i) {
        auto out = some_outlook(0.04 * i, i == 0 ? std::optional<double>() : std::sin(i));
        out.log_public_loss = std::cos(0.5 * i);
        return out;
    };
    prepared_controller whole(policy, terms), lazy(policy, terms);
    for (int i = 0; i < 20; ++i) {
        prepared_controller restored(policy, terms);
        restored.load(whole.save());
        const auto set = whole.decide(seen_at(i));
        CHECK(same(restored.decide(seen_at(i)), set));
        // Eight transitions make a batch; until then there was nothing to learn from.
        CHECK(same(lazy.decide(seen_at(i)), set) == (i < 9));
        whole.learn();
        restored.learn();
        CHECK(restored.save() == whole.save());
    }
    CHECK(whole.decisions() == 20);
    CHECK_THROWS_AS(whole.decide(some_outlook(0.9)), rldp::error);
    CHECK_THROWS_AS(prepared_controller(policy, terms, controller_mode::random), rldp::error);
    CHECK(has(refusal([&] { whole.load(lazy.save().substr(0, 40)); }), "damaged"));
}

TEST_CASE("a tossed policy moves as far as the policy would, as often down as up") {
    const auto parts = parts_of({{0.03, 0, 0, 1}});
    auto subject = with_parts(parts, controller_mode::random), again = with_parts(parts, controller_mode::random);
    const auto seen = some_outlook(0.5, 1);
    double last = 0;
    int up = 0;
    for (int i = 0; i < 400; ++i) {
        const auto set = subject.decide(seen);
        CHECK(same(again.decide(seen), set));
        const double now = std::log(set.lr_factor);
        CHECK(std::abs(now - last) == Approx(0.03 * std::tanh(1.0)));
        up += now > last;
        last = now;
    }
    CHECK(std::abs(up - 200) < 40);  // four deviations
}

TEST_CASE("a shuffled policy is shown any of the blocks so far, its score as often with the other sign") {
    // The rule's moves tell which block it was: scores grow by 0.005 from block to block.
    auto subject = with_parts(parts_of({{0.05, 0, 0, 1}}), controller_mode::shuffled);
    double last = 0, mean_place = 0;
    int up = 0, own = 0;
    constexpr int blocks = 400;
    for (int i = 1; i <= blocks; ++i) {
        const double now = std::log(subject.decide(some_outlook(0.5, 0.005 * i)).lr_factor);
        const double which = std::atanh(std::abs(now - last) / 0.05) / 0.005;
        CHECK(which == Approx(std::round(which)).epsilon(1e-6));
        CHECK(std::round(which) >= 1);
        CHECK(std::round(which) <= i);
        mean_place += which / i / blocks;
        own += std::lround(which) == i;
        up += now > last;
        last = now;
    }
    CHECK(std::abs(up - blocks / 2) < 40);                                             // four deviations
    CHECK(mean_place == Approx(0.5).margin(4 * std::sqrt(1.0 / 12 / blocks) + 0.01));  // evenly of 1/i, …, i/i
    CHECK(own < 40);                                                                   // Σ1/i is 6.6
}

TEST_CASE("a shuffled policy sees what a plain one sees while there is but one block, and then something else") {
    auto plain = with_parts(made_up_parts()), subject = with_parts(made_up_parts(), controller_mode::shuffled);
    CHECK(same(subject.decide(some_outlook(0)), plain.decide(some_outlook(0))));
    int differs = 0;
    for (int i = 1; i <= 20; ++i) {
        const auto seen = some_outlook(0.05 * i);
        differs += !same(subject.decide(seen), plain.decide(seen));
    }
    CHECK(differs > 10);
}

TEST_CASE("a deaf policy sets what its preparation set by then, whatever the run shows") {
    auto parts = made_up_parts();
    for (std::size_t k = 0; k < parts.usual.log_rates.size(); ++k)
        parts.usual.log_rates[k] = 0.1 * static_cast<double>(k);
    auto subject = with_parts(parts, controller_mode::deaf), other = with_parts(parts, controller_mode::deaf);
    for (const double time : {0.0, 0.25, 0.5, 0.9}) {
        const auto set = subject.decide(some_outlook(time, 3));
        auto strange = some_outlook(time, -5);
        for (auto& one : strange.features) one = {4, -1, 1, 1};
        const auto again = other.decide(strange);
        CHECK(set.lr_factor == Approx(std::exp(time)));
        CHECK(set.rates == std::vector<double>(3, 1));
        CHECK(again.lr_factor == set.lr_factor);
        CHECK(again.rates == set.rates);
    }
}

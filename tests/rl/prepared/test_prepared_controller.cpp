#include "rl/prepared/prepared_controller.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::rl;

namespace {

const run_terms three_adapters = {.adapters = 3, .numbers = 400, .noise_multiplier = 0.5, .batch = 20, .epochs = 2};

block_observation some_outlook(double time) {
    block_observation out;
    out.time = time;
    out.features = {{0.5, 0.1, 0.2, 1e-3}, {-0.2, 0, -0.1, 1e-2}, {1 + time, -0.3, 0.4, 0.1}};
    return out;
}

prepared_controller with_parts(prepared_parts parts, controller_mode mode = controller_mode::learned) {
    return {std::make_shared<const prepared_policy>(std::move(parts)), three_adapters, mode};
}

bool same(const block_action& a, const block_action& b) {
    return a.lr_factor == b.lr_factor && a.rates == b.rates && a.shares == b.shares && a.trust == b.trust;
}

}  // namespace

TEST_CASE("a run's observation becomes a policy's, and its action the run's") {
    const prepared_policy policy(made_up_parts());
    auto subject = with_parts(made_up_parts());
    auto last = neutral(3);
    for (const double time : {0.25, 0.5, 0.75}) {
        const auto seen = some_outlook(time);
        policy_observation expected;
        expected.global = {time, std::log(0.5 * 20 / 20), std::log(2), 0, 0, last.rate};
        for (std::size_t i = 0; i < 3; ++i) {
            const auto& one = seen.features[i];
            expected.adapters.push_back(
                {one.signal, one.cosine, one.along, std::log(one.update), last.rates[i], last.shares[i]});
        }
        last = policy.act(expected);
        const auto set = subject.decide(seen);
        CHECK(set.radii.empty());
        CHECK(set.noise_multiplier == 0.5);
        CHECK(set.lr_factor == std::exp(last.rate));
        CHECK(set.trust == policy.trust(expected));
        CHECK(set.shares == compute_shares(last));
        for (std::size_t i = 0; i < 3; ++i) CHECK(set.rates[i] == std::exp(last.rates[i]));
    }
    CHECK(last.rate != 0);
}

TEST_CASE("a policy that did not pass its gate sets nothing") {
    auto parts = made_up_parts();
    parts.passed = false;
    const auto set = with_parts(std::move(parts)).decide(some_outlook(0.5));
    CHECK(set.lr_factor == 1);
    CHECK(set.rates.empty());
    CHECK(set.shares.empty());
    CHECK_FALSE(set.trust);
    CHECK(set.noise_multiplier == 0.5);
}

TEST_CASE("a prepared controller that is restored goes on bit for bit") {
    auto whole = with_parts(made_up_parts()), first = with_parts(made_up_parts()), second = with_parts(made_up_parts());
    whole.decide(some_outlook(0.2));
    first.decide(some_outlook(0.2));
    second.load(first.save());
    CHECK(same(second.decide(some_outlook(0.4)), whole.decide(some_outlook(0.4))));
    CHECK(second.save() == whole.save());
    CHECK(has(refusal([&] { second.load("{}"); }), "damaged"));
    const auto bytes = nlohmann::json::to_cbor(
        {{"rate", 0}, {"rates", {0}}, {"shares", {0}}, {"decisions", 0}, {"blocks", nlohmann::json::array()}});
    CHECK(has(refusal([&] { second.load({bytes.begin(), bytes.end()}); }), "adapters"));
}

TEST_CASE("a policy that goes on learning asks for the loss on public records, and is restored bit for bit") {
    auto terms = three_adapters;
    terms.online = true;
    const auto policy = std::make_shared<const prepared_policy>(made_up_parts());
    const auto seen_at = [](int i) {
        auto out = some_outlook(0.04 * i);
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

TEST_CASE("a frozen policy sets nothing, and a word that names no control is refused") {
    CHECK(with_parts(made_up_parts(), controller_mode::frozen).decide(some_outlook(0.5)).rates.empty());
}

TEST_CASE("a tossed policy moves as far as the policy would, as often down as up") {
    auto parts = made_up_parts();
    parts.actor = at::zeros_like(parts.actor);
    parts.how = {};
    parts.how.numbers[rule::along] = 0.03;
    parts.how.numbers[rule::share_of_signal] = 1;
    auto subject = with_parts(parts, controller_mode::random), again = with_parts(parts, controller_mode::random);
    const auto seen = some_outlook(0.5);  // its mean along is 1/6
    double last = 0;
    int up = 0, first_share_larger = 0;
    for (int i = 0; i < 400; ++i) {
        const auto set = subject.decide(seen);
        CHECK(same(again.decide(seen), set));
        const double now = std::log(set.lr_factor);
        CHECK(std::abs(now - last) == Approx(0.03 / 6));
        up += now > last;
        first_share_larger += set.shares[0] > set.shares[2];  // the policy never has it so
        last = now;
    }
    CHECK(std::abs(up - 200) < 40);  // four deviations
    CHECK(first_share_larger > 40);
}

TEST_CASE("a shuffled policy is shown blocks of before, and goes on bit for bit where it is restored") {
    auto plain = with_parts(made_up_parts()), subject = with_parts(made_up_parts(), controller_mode::shuffled),
         restored = with_parts(made_up_parts(), controller_mode::shuffled);
    CHECK(same(subject.decide(some_outlook(0)), plain.decide(some_outlook(0))));  // there is but one
    int differs = 0;
    for (int i = 1; i <= 20; ++i) {
        restored.load(subject.save());
        const auto seen = some_outlook(0.05 * i);
        const auto set = subject.decide(seen);
        CHECK(same(restored.decide(seen), set));
        differs += !same(plain.decide(seen), set);
    }
    CHECK(differs > 10);
    CHECK(subject.save() == restored.save());
}

TEST_CASE("a policy's description tells its gate, and doubts runs of other lengths") {
    auto parts = made_up_parts();
    parts.figures =
        R"({"tasks":"quadratics","families":["few-flat-cold","many-flat-warm"],"held_out":["few-steep-warm"],"seed":7,
        "blocks":[8,24],"gate":{"policy":{"mean":-0.2231,"standard_error":0.01,"wins":0.7},
                                "feedback":{"mean":0.01,"standard_error":0.01,"wins":0.4}}})";
    const prepared_policy policy(parts);
    const auto told = describe_policy(policy);
    REQUIRE(told.size() == 5);
    CHECK(has(told[0], policy.digest().substr(0, 12)));
    CHECK(has(told[0], "passed its gate"));
    CHECK(has(told[1], "many-flat-warm"));
    CHECK(has(told[2], "few-steep-warm"));
    CHECK(has(told[3], "20.0 % lower"));
    CHECK(has(told[3], "70 % of tasks"));
    CHECK(has(told[3], "18.4 to 21.5 %"));
    CHECK(has(told[4], "1.0 % higher"));
    CHECK(has(told[4], "-1.0 to 3.0 %"));
    REQUIRE(list_warnings(policy, 64).size() == 1);
    CHECK(has(list_warnings(policy, 64)[0], "knows no language models"));
    REQUIRE(list_warnings(policy, 56).size() == 2);
    CHECK(has(list_warnings(policy, 56)[1], "7 blocks"));
    CHECK(has(list_warnings(policy, 10000)[1], "8 to 24"));
    parts.figures = R"({"tasks":"runs","blocks":[8,24]})";
    CHECK(list_warnings(prepared_policy(parts), 64).empty());
    parts.passed = false;
    CHECK(has(describe_policy(prepared_policy(parts))[0], "did not pass"));
    CHECK(describe_policy(prepared_policy(made_up_parts())).size() == 2);
}

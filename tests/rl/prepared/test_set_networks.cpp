#include "rl/prepared/residual.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <numbers>

#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

namespace {

at::Generator seeded(std::uint64_t seed) {
    return at::detail::createCPUGenerator(seed);
}

adapter_set make_sets(const std::vector<policy_observation>& all, std::int64_t room) {
    const auto out = empty_sets(std::ssize(all), room);
    for (std::size_t i = 0; i < all.size(); ++i) put(out, static_cast<std::int64_t>(i), all[i]);
    return out;
}

// Weights none of which is zero.
at::Tensor random_actor(const set_networks& nets) {
    return at::randn({nets.actor_size()}, seeded(3)) * 0.2;
}

}  // namespace

TEST_CASE("an actor begins by adding nothing, whatever is seen") {
    const set_networks nets(16);
    const auto said =
        nets.policy(nets.initial_actor(seeded(1)), make_sets({random_sight(3, 1), random_sight(5, 2)}, 6));
    CHECK(said.mean.global.abs().max().item<double>() == 0);
    CHECK(said.mean.adapters.abs().max().item<double>() == 0);
    CHECK(said.log_sigma.global[0].item<double>() == Approx(-1.5));
}

TEST_CASE("actors and critics know no order of adapters") {
    const set_networks nets(16);
    const auto actor = random_actor(nets), critics = nets.initial_critics(seeded(2));
    auto seen = random_sight(4, 7);
    const auto sets = make_sets({seen}, 4);
    const auto said = nets.policy(actor, sets).mean;
    const auto worth = nets.values(critics, sets, said);
    std::swap(seen.adapters[0], seen.adapters[2]);
    const auto turned = make_sets({seen}, 4);
    const auto again = nets.policy(actor, turned).mean;
    CHECK(at::allclose(again.global, said.global, 1e-5, 1e-6));
    CHECK(at::allclose(again.adapters[0][0], said.adapters[0][2], 1e-5, 1e-6));
    CHECK(at::allclose(again.adapters[0][1], said.adapters[0][1], 1e-5, 1e-6));
    CHECK_FALSE(at::allclose(said.adapters[0][0], said.adapters[0][2], 1e-3, 1e-3));
    const auto worth_again = nets.values(critics, turned, again);
    for (const std::size_t k : {0, 1}) CHECK(at::allclose(worth[k], worth_again[k], 1e-5, 1e-6));
    CHECK_FALSE(at::allclose(worth[0], worth[1]));
}

TEST_CASE("padding changes nothing") {
    const set_networks nets(16);
    const auto actor = random_actor(nets), critics = nets.initial_critics(seeded(2));
    const auto seen = random_sight(3, 5);
    const auto bare = make_sets({seen}, 3), padded = make_sets({seen, random_sight(6, 8)}, 6);
    const auto said = nets.policy(actor, bare), same = nets.policy(actor, padded);
    CHECK(at::allclose(same.mean.global[0], said.mean.global[0], 1e-5, 1e-6));
    CHECK(at::allclose(same.mean.adapters[0].narrow(0, 0, 3), said.mean.adapters[0], 1e-5, 1e-6));
    CHECK(nets.values(critics, padded, same.mean)[0][0].item<double>() ==
          Approx(nets.values(critics, bare, said.mean)[0][0].item<double>()).epsilon(1e-4));
    const auto of_two = same.log_density(same.mean, padded.present);
    CHECK(of_two[0].item<double>() ==
          Approx(said.log_density(said.mean, bare.present)[0].item<double>()).epsilon(1e-4));
}

TEST_CASE("a density is that of the squashed numbers, the common one's plus the adapters' mean") {
    const set_gaussian standard = {empty_actions(1, 2), empty_actions(1, 2)};
    auto at_one = empty_actions(1, 2);
    at_one.adapters.fill_(1);
    const double origin = -0.5 * std::log(2 * std::numbers::pi);
    CHECK(standard.log_density(at_one, at::ones({1, 2})).item<double>() ==
          Approx(2 * origin - 0.5 - std::log(1 - std::pow(std::tanh(1.0), 2))));
    CHECK(standard.log_density(empty_actions(1, 2), at::ones({1, 2})).item<double>() == Approx(2 * origin));
    CHECK(standard.joint_log_density(empty_actions(1, 2), at::ones({1, 2})).item<double>() == Approx(3 * origin));
    auto present = at::ones({1, 2});
    present[0][1] = 0;
    CHECK(standard.joint_log_density(empty_actions(1, 2), present).item<double>() == Approx(2 * origin));
}

TEST_CASE("rows give back what was put") {
    auto chosen = neutral(2);
    chosen.rate = 0.5;
    chosen.rates = {0.25, -1};
    const auto rows = empty_actions(3, 4);
    put(rows, 1, chosen);
    const auto back = action_at(rows, 1, 2);
    CHECK(back.rate == chosen.rate);
    CHECK(back.rates == chosen.rates);
    CHECK(action_at(rows, 0, 2).rate == 0);
    CHECK_THROWS(put(rows, 0, neutral(5)));
}

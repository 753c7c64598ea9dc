// A controller that sees the privacy loss so far and chooses what maximises the hockey-stick divergence: it gains
// nothing from a deck, and breaks a policy that prices what it happened to choose.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "privacy/accounting/gdp.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/accounting/pld/lattice.hpp"

using namespace rldp::privacy;
using lattice::curve;

namespace {

spending_plan small_plan(std::int64_t steps, std::int64_t interval) {
    spending_plan p{1.5, 1e-2, 0.4, steps, interval, "pld"};
    p.deck_levels = 3;
    p.deck_ratio = 4;
    return p;
}

/// V(S) of deck.cpp by its recursion: the last card dealt is played for `last_steps` only. S is counts by level.
class adversary {
  public:
    adversary(const std::vector<double>& levels, double q, int interval, int last_steps)
        : interval_(interval), last_steps_(last_steps) {
        for (const double z : levels) steps_.push_back(lattice::step(z, q));
    }
    const curve& best(const std::vector<int>& left) {
        if (const auto known = known_.find(left); known != known_.end()) return known->second;
        int cards = 0;
        for (const int n : left) cards += n;
        if (cards == 0) return known_[left] = lattice::nothing();
        curve value(lattice::nothing());
        for (std::size_t s = 0; s < left.size(); ++s) {
            if (left[s] == 0) continue;
            auto rest = left;
            --rest[s];
            value = lattice::choose_best(
                value, lattice::repeated(steps_[s], cards == 1 ? last_steps_ : interval_, best(rest)));
        }
        return known_[left] = value;
    }
    curve product(const std::vector<int>& steps_by_level) const {
        curve d = lattice::nothing();
        for (std::size_t s = 0; s < steps_by_level.size(); ++s) d = lattice::repeated(steps_[s], steps_by_level[s], d);
        return d;
    }

  private:
    int interval_, last_steps_;
    std::vector<std::vector<double>> steps_;
    std::map<std::vector<int>, curve> known_;
};

}  // namespace

TEST_CASE("no adaptive order of a deck exceeds its priced multiset, and one attains it") {
    for (const auto& [steps, interval, last] : std::vector<std::array<int, 3>>{{10, 2, 2}, {11, 3, 2}, {9, 4, 1}}) {
        const spending_plan p = small_plan(steps, interval);
        const auto policy = make_policy(rldp::policy_kind::deck, p);
        std::vector<double> levels;
        std::vector<int> cards, priced;
        for (const card& c : policy->deck()) {
            if (levels.empty() || levels.back() != c.noise_multiplier) {
                levels.push_back(c.noise_multiplier);
                cards.push_back(0);
            }
            ++cards.back();
        }
        int total = 0;
        for (const phase& r : priced_phases(policy->deck(), p.sample_rate, p.steps)) {
            priced.push_back(static_cast<int>(r.steps));
            total += priced.back();
        }
        REQUIRE(total == steps);
        adversary game(levels, p.sample_rate, interval, last);
        const curve reached = game.best(cards), product = game.product(priced);
        double most = 0;
        for (std::size_t k = 0; k < reached.size(); ++k) {
            CAPTURE(steps, interval, k);
            CHECK(reached[k] <= product[k] + 1e-12);
            most = std::max(most, product[k] - reached[k]);
        }
        CHECK(most < 1e-12);  // dealing the largest z last attains it
        // The lattice's own bound is loose, but not by much; the pld accountant's is tight.
        const int k = static_cast<int>(std::floor(policy->epsilon_guaranteed() / lattice::spacing));
        CHECK(lattice::at(product, k + 1) <= p.delta * 1.35);
        CHECK(lattice::at(product, k + 1) >= p.delta * 0.7);

        // Shortening any other card would price less than the adversary reaches.
        auto cheaper = priced;
        cheaper.back() += interval - last;
        cheaper.front() -= interval - last;
        const curve wrong = game.product(cheaper);
        if (interval != last) CHECK(lattice::at(wrong, k) < lattice::at(reached, k) * 0.99);
    }
}

TEST_CASE("pricing the realised sequence of free choices fails the same test") {
    // Up to `most` steps at z = 0.6 or 1.2, as long as the steps chosen so far, priced as if fixed beforehand, stay
    // within δ at ε.
    constexpr int most = 40;
    constexpr double q = 0.05, epsilon = 0.5, budget = 1e-2;
    const auto loud = lattice::step(0.6, q), quiet = lattice::step(1.2, q);
    const int k = static_cast<int>(std::lround(epsilon / lattice::spacing));
    std::vector<std::vector<curve>> product(most + 1, std::vector<curve>(most + 1));
    for (int a = 0; a <= most; ++a) {
        for (int b = 0; a + b <= most; ++b)
            product[a][b] = a == 0 ? (b == 0 ? lattice::nothing() : lattice::before(quiet, product[a][b - 1]))
                                   : lattice::before(loud, product[a - 1][b]);
    }
    const auto allowed = [&](int a, int b) { return a + b <= most && lattice::at(product[a][b], k) <= budget; };
    std::vector<std::vector<curve>> value(most + 1, std::vector<curve>(most + 1));
    double honest = 0;
    for (int a = most; a >= 0; --a) {
        for (int b = most - a; b >= 0; --b) {
            if (!allowed(a, b)) continue;
            honest = std::max(honest, lattice::at(product[a][b], k));
            value[a][b] = lattice::nothing();
            if (allowed(a + 1, b))
                value[a][b] = lattice::choose_best(value[a][b], lattice::before(loud, value[a + 1][b]));
            if (allowed(a, b + 1))
                value[a][b] = lattice::choose_best(value[a][b], lattice::before(quiet, value[a][b + 1]));
        }
    }
    CAPTURE(honest, lattice::at(value[0][0], k));
    CHECK(honest <= budget);
    CHECK(lattice::at(value[0][0], k) > 1.2 * budget);
}

TEST_CASE("Monte Carlo of greedy controllers on the policy itself") {
    // q = 1 makes the loss of a step z^-1·y + z^-2/2 under P; δ is the mean of (1 − e^{ε−L})+.
    spending_plan p{1.5, 0.05, 1, 12, 3, "rdp"};
    p.deck_levels = 4;
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    const auto reached = [&](auto&& request) {
        constexpr int games = 4000;
        double sum = 0, squares = 0;
        const double epsilon = make_policy(rldp::policy_kind::deck, p)->epsilon_guaranteed();
        for (int game = 0; game < games; ++game) {
            const auto policy = make_policy(rldp::policy_kind::deck, p);
            double loss = 0;
            for (std::int64_t step = 1; step <= p.steps; ++step) {
                const auto granted = policy->next(step, request(loss, policy->initial_noise_multiplier()));
                REQUIRE(granted);
                const double mu = 1 / granted->noise_multiplier;
                loss += mu * normal(random) + mu * mu / 2;
            }
            const double payoff = std::max(0.0, -std::expm1(epsilon - loss));
            sum += payoff;
            squares += payoff * payoff;
        }
        const double mean = sum / games, error = std::sqrt((squares / games - mean * mean) / games);
        return std::pair{mean, error};
    };
    // The exact δ of the priced multiset, which every order of full blocks has.
    const auto policy = make_policy(rldp::policy_kind::deck, p);
    double square = 0;
    for (const phase& r : priced_phases(policy->deck(), 1, p.steps))
        square += static_cast<double>(r.steps) / (r.noise_multiplier * r.noise_multiplier);
    const double exact = gaussian_delta(std::sqrt(square), policy->epsilon_guaranteed());
    CHECK(exact < p.delta);
    const auto press = [](double loss, double z) { return loss > 0.3 ? z / 2 : 2 * z; };
    const auto relent = [](double loss, double z) { return loss > 0.3 ? 2 * z : z / 2; };
    for (const auto& [mean, error] : {reached(press), reached(relent)}) {
        CAPTURE(mean, error, exact);
        CHECK(std::abs(mean - exact) < 4.5 * error);
        CHECK(error < 0.2 * exact);
    }
}

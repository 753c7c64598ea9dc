// Properties that every accountant has over the whole range it promises.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

std::vector<phase> random_list(std::mt19937_64& random) {
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<phase> phases(1 + static_cast<std::size_t>(unit(random) * 4));
    for (auto& one : phases)
        one = {0.4 * std::pow(25, unit(random)), std::pow(10, -4 * unit(random)),
               static_cast<std::int64_t>(std::pow(10, 3 * unit(random)))};
    return phases;
}

}  // namespace

TEST_CASE("order does not matter, splitting does not matter, free steps cost nothing") {
    std::mt19937_64 random(1);
    for (const std::string name : {"pld", "rdp", "gdp_clt"}) {
        const auto with = make_accountant(name);
        CHECK(with->name() == name);
        CHECK(with->epsilon({}, 1e-5) == 0);
        CHECK(with->delta({}, 0) == 0);
        for (int trial = 0; trial < 5; ++trial) {
            auto phases = random_list(random);
            const double epsilon = with->epsilon(phases, 1e-6);
            std::shuffle(phases.begin(), phases.end(), random);
            phases.push_back({0.5, 0.5, 0});
            phases.push_back({0.5, 0, 1000});
            phases.push_back({phases[0].noise_multiplier, phases[0].sample_rate, phases[0].steps / 3});
            phases[0].steps -= phases[0].steps / 3;
            CHECK(with->epsilon(phases, 1e-6) == epsilon);
        }
    }
}

TEST_CASE("more steps, more sampling, less noise or smaller delta never cost less, pld is at most rdp") {
    std::mt19937_64 random(2);
    for (const std::string name : {"pld", "rdp", "gdp_clt"}) {
        const auto with = make_accountant(name);
        const double slack = name == "pld" ? 1e-3 : 1e-6;  // the mesh's accuracy
        for (int trial = 0; trial < 6; ++trial) {
            const auto phases = random_list(random);
            const double epsilon = with->epsilon(phases, 1e-6);
            const auto at_least = [&](double other) { CHECK(other >= epsilon * (1 - slack) - 1e-9); };
            auto more = phases;
            more[0].steps *= 2;
            at_least(with->epsilon(more, 1e-6));
            more = phases;
            more[0].sample_rate = std::min(1.0, more[0].sample_rate * 1.3);
            at_least(with->epsilon(more, 1e-6));
            more = phases;
            more[0].noise_multiplier *= 0.9;
            at_least(with->epsilon(more, 1e-6));
            at_least(with->epsilon(phases, 1e-7));
            CHECK(with->delta(phases, epsilon * 1.1) <= with->delta(phases, epsilon) * (1 + slack));
            if (name == "pld") CHECK(epsilon <= make_accountant("rdp")->epsilon(phases, 1e-6) * (1 + 1e-9));
        }
    }
}

TEST_CASE("the corners of the range are finite, ordered and inverted") {
    const auto pld = make_accountant("pld"), rdp = make_accountant("rdp");
    for (const double z : {0.3, 1.0, 100.0}) {
        for (const double q : {1e-6, 1e-3, 1.0}) {
            for (const std::int64_t steps : {std::int64_t{1}, std::int64_t{10'000'000}}) {
                for (const double delta : {steps > 1 ? 1e-7 : 1e-10, 0.1}) {
                    const phase r{z, q, steps};
                    CAPTURE(z, q, steps, delta);
                    const double tight = pld->epsilon({&r, 1}, delta), renyi = rdp->epsilon({&r, 1}, delta);
                    CHECK(std::isfinite(renyi));
                    CHECK(tight >= 0);
                    CHECK(tight <= renyi * (1 + 1e-9));
                    if (renyi < 1e4) CHECK(pld->delta({&r, 1}, tight) <= delta * 1.05);
                }
            }
        }
    }
}

TEST_CASE("who releases with probability q only is (0, q)-private") {
    const auto pld = make_accountant("pld");
    for (const double z : {1e-3, 0.01, 0.3}) {
        const phase r{z, 1e-4, 10};
        const double seen = -std::expm1(10 * std::log1p(-1e-4));
        CAPTURE(z);
        CHECK(pld->epsilon({&r, 1}, seen * 1.001) < 0.01);
        CHECK(pld->delta({&r, 1}, 1) <= seen * 1.001);
        if (z < 0.05) CHECK(pld->delta({&r, 1}, 1) == Approx(seen).epsilon(1e-3));
        if (z < 0.05) CHECK(pld->epsilon({&r, 1}, seen * 0.5) > 10);
    }
    const phase clear{1e-3, 1, 1};
    CHECK(pld->delta({&clear, 1}, 5) == 1);
}

TEST_CASE("ten thousand different runs") {
    std::vector<phase> phases(10'000);
    for (std::size_t i = 0; i < phases.size(); ++i) phases[i] = {0.5 + 1e-4 * static_cast<double>(i), 1e-3, 2};
    for (const std::string name : {"rdp", "pld"}) {
        const double epsilon = make_accountant(name)->epsilon(phases, 1e-5);
        const phase least{0.5, 1e-3, 20'000}, most{1.5, 1e-3, 20'000};
        CHECK(epsilon < make_accountant(name)->epsilon({&least, 1}, 1e-5));
        CHECK(epsilon > make_accountant(name)->epsilon({&most, 1}, 1e-5));
    }
}

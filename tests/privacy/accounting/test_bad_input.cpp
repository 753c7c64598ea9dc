#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "privacy/accounting/rdp.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
}

TEST_CASE("accountants refuse numbers out of range, naming the phase") {
    const phase good{1, 0.1, 10};
    for (const std::string name : {"pld", "rdp", "gdp_clt"}) {
        const auto with = make_accountant(name);
        CAPTURE(name);
        for (const double z : {0.0, -1.0, not_a_number, inf, -inf}) {
            const std::vector<phase> phases{good, {z, 0.1, 10}};
            CHECK_THROWS_AS(with->epsilon(phases, 1e-5), rldp::error);
            CHECK_THROWS_AS(with->delta(phases, 1), rldp::error);
        }
        for (const double q : {-1e-9, 1.0001, not_a_number, inf}) {
            const std::vector<phase> phases{{1, q, 10}};
            CHECK_THROWS_AS(with->epsilon(phases, 1e-5), rldp::error);
        }
        for (const std::int64_t steps :
             {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
            const std::vector<phase> phases{{1, 0.1, steps}};
            CHECK_THROWS_AS(with->epsilon(phases, 1e-5), rldp::error);
        }
        for (const double delta : {0.0, 1.0, -0.1, 1.5, not_a_number, inf})
            CHECK_THROWS_AS(with->epsilon({&good, 1}, delta), rldp::error);
        for (const double epsilon : {-1e-9, not_a_number, inf})
            CHECK_THROWS_AS(with->delta({&good, 1}, epsilon), rldp::error);
        try {
            const std::vector<phase> phases{good, {not_a_number, 0.1, 10}};
            with->epsilon(phases, 1e-5);
        } catch (const rldp::error& e) {
            CHECK(e.code() == rldp::errc::bad_input);
            CHECK(std::string(e.what()).find("phase 2") != std::string::npos);
            CHECK(std::string(e.what()).find('\n') == std::string::npos);
        }
    }
    CHECK_THROWS_AS(make_accountant("prv"), rldp::error);
    CHECK_THROWS_AS(make_accountant(""), rldp::error);
}

TEST_CASE("absurd but valid numbers give bounds, not crashes") {
    for (const std::string name : {"pld", "rdp", "gdp_clt"}) {
        const auto with = make_accountant(name);
        for (const double z : {1e-300, 1e-9, 1e-2, 1e9, 1e300}) {
            for (const double q : {1e-300, 1e-12, 0.5, 1.0}) {
                for (const std::int64_t steps : {std::int64_t{1}, std::int64_t{1'000'000'000'000}}) {
                    const phase r{z, q, steps};
                    CAPTURE(name, z, q, steps);
                    const double epsilon = with->epsilon({&r, 1}, 1e-5), delta = with->delta({&r, 1}, 1);
                    CHECK(epsilon >= 0);
                    CHECK((delta >= 0 && delta <= 1));
                }
            }
        }
    }
}

TEST_CASE("single formulas refuse what they can't mean") {
    for (const double alpha : {1.0, 0.5, -2.0, not_a_number, inf})
        CHECK_THROWS_AS(subsampled_gaussian_rdp(alpha, 1, 0.1), rldp::error);
    CHECK_THROWS_AS(subsampled_gaussian_rdp(2, 0, 0.1), rldp::error);
    CHECK_THROWS_AS(subsampled_gaussian_rdp(2, 1, 2), rldp::error);
    CHECK_THROWS_AS(gaussian_epsilon(-1, 1e-5), rldp::error);
    CHECK_THROWS_AS(gaussian_epsilon(not_a_number, 1e-5), rldp::error);
    CHECK_THROWS_AS(gaussian_epsilon(1, 0), rldp::error);
    CHECK_THROWS_AS(gaussian_delta(1, -1), rldp::error);
    for (const double accuracy : {0.0, -1.0, 0.5, not_a_number}) CHECK_THROWS_AS(make_pld(accuracy), rldp::error);
    const phase bad{not_a_number, 0.1, 1};
    CHECK_THROWS_AS(published_epsilon(published_formula::printed, {&bad, 1}, 1e-5), rldp::error);
}

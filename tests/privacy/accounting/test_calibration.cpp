#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

TEST_CASE("calibration meets the budget from the safe side, and no smaller scale does") {
    const std::vector<std::vector<phase>> shapes{{{1, 16.0 / 73271, 26880}},
                                                 {{1, 0.25, 200}},
                                                 {{1, 1, 10}},
                                                 {{0.5, 1e-3, 1000}, {1, 1e-3, 1000}, {2, 1e-3, 1000}}};
    for (const std::string name : {"pld", "rdp", "gdp_clt"}) {
        const auto with = make_accountant(name);
        for (const auto& shape : shapes) {
            for (const double epsilon : {0.5, 8.0}) {
                CAPTURE(name, shape.size(), shape[0].sample_rate, epsilon);
                const calibration found = calibrate(*with, shape, epsilon, 1e-5);
                CHECK(found.epsilon <= epsilon);
                CHECK(found.epsilon >= epsilon * (1 - 1e-3));
                auto phases = shape;
                for (phase& r : phases) r.noise_multiplier = r.noise_multiplier * found.noise_multiplier;
                CHECK(with->epsilon(phases, 1e-5) == Approx(found.epsilon).epsilon(2e-4));
                for (phase& r : phases) r.noise_multiplier *= 1 - 2e-4;
                CHECK(with->epsilon(phases, 1e-5) > epsilon * (1 - 1e-5));
            }
        }
    }
}

TEST_CASE("a budget out of reach is refused with the smallest that is not, and the knobs") {
    const phase shape{1, 1, 1'000'000};
    try {
        calibrate(*make_accountant("rdp"), {&shape, 1}, 1e-3, 1e-9);
        FAIL("calibrated");
    } catch (const rldp::error& e) {
        const std::string text = e.what();
        CAPTURE(text);
        CHECK(e.code() == rldp::errc::bad_input);
        CHECK(text.find("smallest") != std::string::npos);
        CHECK(text.find("0.5") != std::string::npos);  // μ = 0.1: ε ≈ 0.58 at 1e-9
        CHECK(text.find("sample rate") != std::string::npos);
        CHECK(text.find("steps") != std::string::npos);
    }
}

TEST_CASE("a budget that every noise meets gets the least") {
    const phase shape{1, 1e-6, 10};
    const calibration found = calibrate(*make_accountant("pld"), {&shape, 1}, 1, 0.01);
    CHECK(found.noise_multiplier == Approx(0.05));
    CHECK(found.epsilon <= 1);
}

TEST_CASE("calibration refuses bad numbers") {
    const auto with = make_accountant("rdp");
    const phase shape{1, 0.01, 100}, none{1, 0.01, 0}, never{1, 0, 100}, bad{-1, 0.01, 100};
    const double not_a_number = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    for (const double epsilon : {0.0, -1.0, not_a_number, inf})
        CHECK_THROWS_AS(calibrate(*with, {&shape, 1}, epsilon, 1e-5), rldp::error);
    for (const double delta : {0.0, 1.0, not_a_number})
        CHECK_THROWS_AS(calibrate(*with, {&shape, 1}, 1, delta), rldp::error);
    CHECK_THROWS_AS(calibrate(*with, {}, 1, 1e-5), rldp::error);
    CHECK_THROWS_AS(calibrate(*with, {&none, 1}, 1, 1e-5), rldp::error);
    CHECK_THROWS_AS(calibrate(*with, {&never, 1}, 1, 1e-5), rldp::error);
    CHECK_THROWS_AS(calibrate(*with, {&bad, 1}, 1, 1e-5), rldp::error);
    const std::vector<phase> apart{{1e-6, 0.01, 1}, {1e6, 0.01, 1}};
    CHECK_THROWS_AS(calibrate(*with, apart, 1, 1e-5), rldp::error);
}

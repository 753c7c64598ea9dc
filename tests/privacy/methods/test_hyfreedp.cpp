#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "privacy/mechanism/measurement.hpp"
#include "privacy/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

using namespace rldp::privacy;

namespace {

constexpr double batch = 50;

method_config hyfreedp() {
    method_config out;
    out.name = "hyfreedp";
    out.pair_sizes = {6, 4};
    out.expected_batch = batch;
    out.statistics_share = 0.1;
    out.initial_radius = 1;
    out.clip_min = 0.01;
    out.clip_max = 10;
    out.stabiliser = 0.01;
    out.initial_loss = 4;  // losses are clipped to 8 at first
    return out;
}

/// Steps without a look at the losses, until the next has one.
void until_it_looks(method& by) {
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({10});
    while (!by.next_terms(1).measured) by.absorb(value);
}

/// A look at these mean losses here, where the last step began, and as far again behind, clipped at `range`.
void see(method& by, double range, double here, double began, double before) {
    until_it_looks(by);
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({10});
    for (const double loss : {here, began, before}) value.statistics.push_back(batch * (loss / range - 0.5));
    by.absorb(value);
}

}  // namespace

TEST_CASE("a unit moves what is measured of its losses by the sensitivity at most") {
    const auto measured = measure_losses(2, 3);
    CHECK(measured->sensitivity() == Approx(std::sqrt(0.75)));
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const auto of_unit = [&](double first, double a, double b, double c) {
        std::vector<double> sum(3, 0.0);
        measured->add({}, at::tensor({first, a, b, c}, at::kDouble).unsqueeze(0), sum);
        return sum;
    };
    CHECK(of_unit(7, 0.5, 1, 1.5) == std::vector<double>{-0.25, 0, 0.25});
    CHECK(of_unit(nan, -3, 2, 1e30) == std::vector<double>{-0.5, 0.5, 0.5});
    CHECK(of_unit(0, inf, nan, -inf) == std::vector<double>{0, 0, 0});
    std::vector<double> sum(3, 0.0);
    CHECK_THROWS_AS(measured->add({}, at::zeros({1, 3}, at::kDouble), sum), rldp::error);
    CHECK_THROWS_AS(measure_losses(0, 3), rldp::error);
    CHECK_THROWS_AS(measure_losses(1, 0), rldp::error);
}

TEST_CASE("hyfreedp looks at losses every ten steps, and pays its share of the multiplier for it") {
    const auto how = make_method(hyfreedp());
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({10});
    for (int step = 0; step < 31; ++step) {
        const auto terms = how->next_terms(0.8);
        CAPTURE(step);
        CHECK(terms.rule == clip_rule::normalise);
        CHECK(static_cast<bool>(terms.measured) == (step == 10 || step == 20 || step == 30));
        CHECK(terms.probes == (terms.measured ? std::vector<double>{0, -1, -2} : std::vector<double>{}));
        if (terms.measured) CHECK(terms.measurement_multiplier == Approx(0.8 / std::sqrt(0.1)));
        value.statistics.assign(terms.measured ? 3 : 0, 0.0);
        CHECK(at::allclose(how->absorb(value), value.gradient / batch));
    }
}

TEST_CASE("hyfreedp does not look while the rate rises") {
    auto config = hyfreedp();
    config.warmup = 20;
    const auto how = make_method(config);
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({10});
    for (int step = 0; step < 30; ++step) {
        CHECK_FALSE(how->next_terms(1).measured);
        how->absorb(value);
    }
    CHECK(how->next_terms(1).measured);
}

TEST_CASE("hyfreedp's rate follows the parabola through the losses") {
    const auto how = make_method(hyfreedp());
    CHECK(how->rate_factor() == 1);
    see(*how, 8, 2.4, 2.6, 3);  // slope 0.3, curvature 0.2: the step was too short by 1.5
    CHECK(how->rate_factor() == Approx(1.5));
    see(*how, 4.8, 2.5, 2.3, 2.7);  // slope 0.1, curvature 0.6: a sixth, and no more than half at a time
    CHECK(how->rate_factor() == Approx(0.75));
    see(*how, 5, 2.0, 2.5, 2.9);  // bent the wrong way: nothing is known of the least
    CHECK(how->rate_factor() == Approx(0.75));
    see(*how, 4, 2.6, 2.3, 2.5);  // it went uphill
    CHECK(how->rate_factor() == Approx(0.75));
    for (int i = 0; i < 20; ++i) {  // steps far too short double
        const auto numbers = how->save().numbers;
        const double range = std::stod(numbers.substr(numbers.find("\"range\":") + 8));
        see(*how, range, 2.00, 2.10, 2.2001);
    }
    CHECK(how->rate_factor() == 1000);
}

TEST_CASE("hyfreedp goes on from its state, and from no other") {
    const auto one = make_method(hyfreedp()), other = make_method(hyfreedp());
    see(*one, 8, 2.4, 2.6, 3);
    until_it_looks(*one);
    other->load(one->save());
    CHECK(other->next_terms(1).measured);
    for (auto* each : {one.get(), other.get()}) see(*each, 4.8, 2.2, 2.3, 2.7);
    CHECK(other->rate_factor() == one->rate_factor());
    for (const char* numbers : {R"({"method":"hyfreedp","steps":10,"factor":0,"range":1})",
                                R"({"method":"hyfreedp","steps":10,"factor":1,"range":-1})",
                                R"({"method":"hyfreedp","steps":-1,"factor":1,"range":1})",
                                R"({"method":"hyfreedp","steps":1e300,"factor":1,"range":1})",
                                R"({"method":"hyfreedp","factor":1,"range":1})"})
        CHECK_THROWS_AS(other->load({numbers, {}}), rldp::error);
    auto config = hyfreedp();
    config.statistics_share = 0;
    CHECK_THROWS_AS(make_method(config), rldp::error);
}

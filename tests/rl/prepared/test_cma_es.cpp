#include "rl/research/cma_es.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::rl::cma_es;

namespace {

double sphere(const cma_es::point& x) {
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}
double ellipsoid(const cma_es::point& x) {
    double out = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        out += std::pow(1e6, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * x[i] * x[i];
    return out;
}
double rosenbrock(const cma_es::point& x) {
    double out = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
        out += 100 * std::pow(x[i] * x[i] - x[i + 1], 2) + std::pow(1 - x[i], 2);
    return out;
}

void run_generation(cma_es& search, const std::function<double(const cma_es::point&)>& function) {
    std::vector<double> values;
    for (const auto& one : search.ask()) values.push_back(function(one));
    search.tell(values);
}

// Evaluations until a value below 1e-10.
std::size_t evaluations(const std::function<double(const cma_es::point&)>& function, const cma_es::point& start,
                        std::uint64_t seed) {
    cma_es search(start, 0.5, seed);
    while (search.best_value() > 1e-10 && search.generation() < 5000) run_generation(search, function);
    return search.generation() * search.population();
}

}  // namespace

// Hansen's own implementation (c-cmaes, purecma) needs some 1,700, 5,500 and 6,500 evaluations in ten dimensions.
TEST_CASE("the search needs as many evaluations as is published") {
    for (const std::uint64_t seed : {1, 2, 3}) {
        CHECK(evaluations(sphere, cma_es::point(10, 1), seed) < 2600);
        CHECK(evaluations(ellipsoid, cma_es::point(10, 1), seed) < 8000);
        CHECK(evaluations(rosenbrock, cma_es::point(10, 0), seed) < 11000);
        CHECK(evaluations(rosenbrock, cma_es::point(5, 0), seed) < 4500);
    }
}

TEST_CASE("only the order of values counts, and a value that is none ranks last") {
    cma_es plain({1, 2}, 0.3, 4), bent({1, 2}, 0.3, 4), hurt({1, 2}, 0.3, 4);
    for (int i = 0; i < 20; ++i) {
        run_generation(plain, sphere);
        run_generation(bent, [](const cma_es::point& x) { return std::exp(sphere(x)); });
        run_generation(hurt, [](const cma_es::point& x) { return x[0] > 1.1 ? std::nan("") : sphere(x); });
    }
    CHECK(plain.mean() == bent.mean());
    CHECK(hurt.best_value() < 0.05);
    CHECK(sphere(hurt.best()) == hurt.best_value());
}

TEST_CASE("a search that was saved goes on bit for bit") {
    cma_es whole({1, -1, 2}, 0.5, 9, 8);
    CHECK(cma_es::load(whole.save(), "a search").save() == whole.save());
    for (int i = 0; i < 7; ++i) run_generation(whole, ellipsoid);
    auto resumed = cma_es::load(whole.save(), "a search");
    for (int i = 0; i < 9; ++i) {
        run_generation(whole, ellipsoid);
        run_generation(resumed, ellipsoid);
    }
    CHECK(resumed.save() == whole.save());
    CHECK(resumed.best_value() == whole.best_value());
    CHECK(cma_es({1, -1, 2}, 0.5, 10, 8).ask() != cma_es({1, -1, 2}, 0.5, 9, 8).ask());
}

TEST_CASE("a saved search that is damaged is refused by name") {
    const auto text = cma_es({1, -1}, 0.5, 9).save();
    const auto refused = [](const std::string& saved) { return refusal([&] { cma_es::load(saved, "the-search"); }); };
    CHECK(has(refused(text.substr(0, text.size() / 2)), "the-search"));
    CHECK(has(refused("{}"), "the-search"));
    auto other = text;
    other.replace(other.find("\"step_path\":["), 13, "\"step_path\":[1.0,");
    CHECK(has(refused(other), "step_path"));
    CHECK_THROWS_AS(cma_es({}, 1, 1), rldp::error);
    CHECK_THROWS_AS(cma_es({1}, 0, 1), rldp::error);
}

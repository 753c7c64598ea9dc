// Banded noise: its matrix and its price, against jax_privacy and dp_accounting, and against dense matrices.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "privacy/accounting/bands.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::privacy;

namespace {

nlohmann::json banded_plans() {
    std::ifstream file("../shared/golden/accounting/bands.json");
    if (!file) {
        WARN("skipped: no shared data");
        return nlohmann::json::array();
    }
    return nlohmann::json::parse(file);
}

/// The rows of A·C⁻¹ for a matrix that is inverted as a whole: squared norms.
std::vector<double> dense_row_squares(const band_coefficients& bands, std::size_t steps) {
    std::vector<std::vector<double>> inverse(steps, std::vector<double>(steps, 0));
    for (std::size_t column = 0; column < steps; ++column)
        for (std::size_t row = column; row < steps; ++row) {
            double sum = row == column ? 1 : 0;
            for (std::size_t k = 1; k < bands.size() && k <= row; ++k) sum -= bands[k] * inverse[row - k][column];
            inverse[row][column] = sum / bands[0];
        }
    std::vector<double> sums(steps, 0), out;
    for (std::size_t row = 0; row < steps; ++row) {
        double squares = 0;
        for (std::size_t column = 0; column < steps; ++column) {
            sums[column] += inverse[row][column];
            squares += sums[column] * sums[column];
        }
        out.push_back(squares);
    }
    return out;
}

}  // namespace

TEST_CASE("banded matrices are those of jax_privacy, the best ones no worse than its") {
    for (const auto& golden : banded_plans()) {
        const std::int64_t bands = golden.at("bands"), steps = golden.at("steps");
        CAPTURE(bands, steps);
        const auto root = make_square_root_bands(bands);
        const auto& wanted = golden.at("root_coefficients");
        REQUIRE(root.size() == wanted.size());
        for (std::size_t j = 0; j < root.size(); ++j) CHECK(root[j] == Approx(wanted[j].get<double>()).epsilon(1e-6));
        const auto check_error = [&](const band_coefficients& of, const nlohmann::json& error, double within) {
            const auto got = compute_prefix_error(of, steps);
            CHECK(got.mean_squared == Approx(error.at("mean_squared").get<double>()).epsilon(within));
            CHECK(got.last_squared == Approx(error.at("last_squared").get<double>()).epsilon(within));
        };
        check_error(root, golden.at("root_error"), 1e-6);
        check_error({1}, golden.at("independent_error"), 1e-9);
        check_error(golden.at("optimum_coefficients"), golden.at("optimum_error"), 1e-6);
        const double theirs = golden.at("optimum_error").at("mean_squared");
        const auto best = find_best_bands(bands, steps);
        CHECK(compute_prefix_error(best, steps).mean_squared <= 1.0005 * theirs);
        double squares = 0;
        for (const double c : best) squares += c * c;
        CHECK(squares == Approx(1).epsilon(1e-12));
        // A run gets them where they are better by 3 %, else the square root's.
        const double ratio = theirs / golden.at("root_error").at("mean_squared").get<double>();
        if (std::abs(ratio - 0.97) > 1e-3) CHECK((make_bands(bands, steps) == root) == (ratio > 0.97));
    }
}

TEST_CASE("errors of prefix sums are those of dense matrices") {
    std::mt19937_64 engine(5);
    for (int i = 0; i < 20; ++i) {
        const auto steps = std::uniform_int_distribution<std::int64_t>(1, 60)(engine);
        const auto bands = std::uniform_int_distribution<std::int64_t>(1, steps)(engine);
        CAPTURE(bands, steps);
        for (const auto& c : {make_square_root_bands(bands), make_bands(bands, steps)}) {
            const auto rows = dense_row_squares(c, static_cast<std::size_t>(steps));
            double sum = 0;
            for (const double row : rows) sum += row;
            const auto got = compute_prefix_error(c, steps);
            CHECK(got.mean_squared == Approx(sum / static_cast<double>(steps)).epsilon(1e-10));
            CHECK(got.last_squared == Approx(rows.back()).epsilon(1e-10));
        }
        CHECK(compute_prefix_error(find_best_bands(bands, steps), steps).mean_squared <=
              compute_prefix_error(make_square_root_bands(bands), steps).mean_squared * (1 + 1e-12));
    }
}

TEST_CASE("bands cost what dp_accounting says of their rounds, and calibrate from the safe side") {
    const auto pld = make_accountant("pld"), rdp = make_accountant("rdp");
    for (const auto& golden : banded_plans()) {
        const std::int64_t bands = golden.at("bands"), steps = golden.at("steps");
        const banded_plan plan{golden.at("expected_batch_size").get<double>() / golden.at("units").get<double>(), steps,
                               golden.at("units")};
        CAPTURE(bands, steps, plan.sample_rate);
        const double delta = golden.at("delta");
        const auto rounds = to_rounds(bands, golden.at("noise_multiplier"), plan.sample_rate, steps);
        CHECK(rounds.steps == golden.at("rounds").get<std::int64_t>());
        CHECK(rounds.sample_rate == Approx(golden.at("group_sample_rate").get<double>()).epsilon(1e-12));
        CHECK(pld->epsilon({&rounds, 1}, delta) == Approx(golden.at("epsilon_pld").get<double>()).epsilon(1e-3));
        CHECK(rdp->epsilon({&rounds, 1}, delta) <= golden.at("epsilon_rdp").get<double>() * (1 + 1e-6));
        const double target = golden.at("target_epsilon");
        const auto found = calibrate_bands(*pld, bands, plan, target, delta);
        CHECK(found.noise.noise_multiplier ==
              Approx(golden.at("noise_multiplier_at_target").get<double>()).epsilon(1e-3));
        CHECK(found.noise.epsilon <= target);
        if (bands == 1) CHECK(found.left == 1);
    }
}

TEST_CASE("bands that a plan does not admit are refused in one line, and the most is told") {
    const banded_plan plan{0.01, 40, 5000};
    CHECK(find_most_bands(plan) == 40);
    CHECK(find_most_bands({0.3, 40, 5000}) == 3);
    CHECK(find_most_bands({0.25, 40, 5000}) == 4);
    CHECK(find_most_bands({0.01, 40, 35}) == 3);
    CHECK(find_most_bands({1, 40, {}}) == 1);
    CHECK(refusal([&] { check_bands(41, plan); }) == "noise.bands: 41 are more than the 40 steps; give at most 40");
    CHECK(refusal([&] {
              check_bands(4, {0.3, 40, 5000});
          }) ==
          "noise.bands: 4 groups at sample rate 0.3 would be drawn from with probability 1.2, above 1; give at most 3, "
          "or a "
          "smaller expected batch size");
    CHECK(refusal([&] {
              check_bands(4, {0.01, 40, 39});
          }) == "noise.bands: 4 groups of 39 units have fewer than 10 units each, expected; give at most 3");
    CHECK(refusal([&] { check_bands(0, plan); }) ==
          "noise.bands: 0 of them; give at least 1, which is independent noise");
    CHECK(has(refusal([&] { check_bands(2000, {1e-6, 3000, {}}); }), "more than 1024"));
    CHECK(has(refusal([&] { check_bands(2, {1e-6, 2'000'000, {}}); }), "1000000"));
    CHECK(find_most_bands({1e-9, 2'000'000, {}}) == 1);
    CHECK(make_bands(1024, 1'000'000) == make_square_root_bands(1024));
    for (const std::int64_t bands : {1, 2, 40}) CHECK_NOTHROW(check_bands(bands, plan));
    CHECK_NOTHROW(check_bands(1, {1, 1, 3}));  // as today
    CHECK_NOTHROW(check_bands(4, {0.01, 40, 40}));
}

TEST_CASE("bands of several runs are priced as all of them") {
    const auto pld = make_pld(1e-2);
    const auto of_three = calibrate_bands(*pld, 4, {0.01, 40, 5000, 3}, 2, 1e-5);
    const phase rounds{1, 0.04, 30};
    CHECK(of_three.noise.noise_multiplier == calibrate(*pld, {&rounds, 1}, 2, 1e-5).noise_multiplier);
    CHECK(of_three.left != calibrate_bands(*pld, 4, {0.01, 40, 5000}, 2, 1e-5).left);
}

TEST_CASE("bands are chosen where they pay, and the reason says by how much") {
    const auto pld = make_pld(1e-2);
    const auto choose = [&](double rate, std::int64_t steps, std::optional<std::int64_t> population = {}) {
        return choose_bands(*pld, {rate, steps, population}, 2, 1e-5);
    };
    // The arena's plan, where four bands measured better than eight.
    const auto arena = choose(64 / 73271.0, 100, 73271);
    CHECK(arena.bands == 4);
    CHECK(arena.left < 0.64);
    CHECK(arena.reason.find("8 would take") != std::string::npos);
    // Every unit at every step: nothing is amplified, and a second group can't be.
    CHECK(choose(1, 50).bands == 1);
    CHECK(choose(0.4, 50, 19).bands == 1);
    // Few steps of large batches.
    const auto few = choose(0.25, 8);
    CAPTURE(few.left, few.reason);
    CHECK(few.bands == 1);
    CHECK(few.reason.find("less than 5 %") != std::string::npos);
    // Never more than eight, nor than a plan admits.
    CHECK(choose(1e-5, 3000).bands <= 8);
    CHECK(choose(0.2, 1000, 1000).bands <= 4);
}

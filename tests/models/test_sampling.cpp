// Sampling from logits with known distributions. The chi-square tests must reject the wrong alternatives too.
#include "models/generate.hpp"
#include "tests/models/support.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

constexpr std::int64_t draws = 20000;
constexpr float never = std::numeric_limits<float>::infinity();  // as a negative logit

// Chi-square statistic of draws against probabilities p, and infinite where an impossible token was drawn.
double chi_square(const std::vector<std::int64_t>& counts, const std::vector<double>& p) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double expected = p[i] * draws, difference = static_cast<double>(counts[i]) - expected;
        if (expected > 0) sum += difference * difference / expected;
        if (expected == 0 && counts[i] > 0) return INFINITY;
    }
    return sum;
}

// The bound for up to 4 degrees of freedom that chance exceeds in one of a million cases.
constexpr double bound = 33.4;

std::vector<std::int64_t> counts(const std::vector<double>& p, const sampling& how, std::uint64_t seed) {
    std::vector<double> uniform;
    for (std::uint64_t i = 0; i < draws; ++i) uniform.push_back(uniform_number(seed, i, i % 7));
    // Logits are known up to a constant.
    const auto logits = (at::tensor(p, at::kDouble).log() + 3).to(at::kFloat).expand({draws, -1});
    std::vector<std::int64_t> result(p.size());
    for (const auto id : sample(logits, how, uniform)) ++result.at(static_cast<std::size_t>(id));
    return result;
}

}  // namespace

TEST_CASE("draws follow temperature, top-k and top-p", "[sampling]") {
    const std::vector<double> p{0.1, 0.4, 0.05, 0.25, 0.2};
    const auto squared = [&] {  // temperature 1/2
        std::vector<double> q;
        double total = 0;
        for (const auto x : p) total += x * x;
        for (const auto x : p) q.push_back(x * x / total);
        return q;
    }();
    const std::vector<double> best_three{0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85};
    const std::vector<double> best_two{0, 0.4 / 0.65, 0, 0.25 / 0.65, 0};
    const std::vector<double> best_four{0.1 / 0.95, 0.4 / 0.95, 0, 0.25 / 0.95, 0.2 / 0.95};
    struct trial {
        sampling how;
        std::vector<double> expected;
    };
    const std::vector<trial> trials{
        {{1, 0, 1}, p},          {{0.5, 0, 1}, squared},
        {{1, 3, 1}, best_three}, {{1, 0, 0.8}, best_three},  // 0.4 + 0.25 falls short of 0.8, with 0.2 it does not
        {{1, 0, 0.6}, best_two}, {{1, 0, 0.66}, best_three},
        {{1, 4, 0.6}, best_two},  // of the four's probability 0.95 top-p is 0.57
        {{1, 2, 0.9}, best_two},  // 0.4 / 0.65 falls short of 0.9
        {{1, 3, 0.7}, best_two},  // of 0.85 it is 0.595; of the whole it would be 0.7 and take three
        {{1, 4, 1}, best_four},  {{1, 9, 1}, p},
    };
    const std::vector<std::vector<double>> alternatives{p, squared, best_two, best_three, best_four};
    std::uint64_t seed = 0;
    for (const auto& [how, expected] : trials) {
        INFO(how.temperature << " " << how.top_k << " " << how.top_p);
        const auto seen = counts(p, how, ++seed);
        CHECK(chi_square(seen, expected) < bound);
        for (const auto& wrong : alternatives)
            if (wrong != expected) CHECK(chi_square(seen, wrong) > bound);
    }
}

TEST_CASE("the likeliest token is taken at temperature 0 and approached near it", "[sampling]") {
    const auto logits = at::tensor({1.0F, 3.0F, 2.0F, 9.0F, -never, 9.5F}).view({2, 3});
    for (const double temperature : {0.0, 1e-300, 1e-3})
        CHECK(sample(logits, {temperature}, {0.999, 0.999}) == std::vector<std::int32_t>{1, 2});
    CHECK(sample(logits, {1, 1, 1}, {0.999, 0.999}) == std::vector<std::int32_t>{1, 2});
    CHECK(sample(logits, {1, 0, 1e-9}, {0.999, 0.999}) == std::vector<std::int32_t>{1, 2});
    // Equal logits: the first.
    CHECK(sample(at::zeros({1, 4}), {0}, {0.9}) == std::vector<std::int32_t>{0});
}

TEST_CASE("tokens without probability are never drawn", "[sampling]") {
    const auto logits = at::tensor({-never, 0.0F, -never, 0.0F, -never}).unsqueeze(0);
    for (const double top_p : {1.0, 0.99})
        for (const double u : {0.0, 0.25, 0.5, 0.75, 1 - 0x1p-53}) {
            const auto id = sample(logits, {1, 0, top_p}, {u})[0];
            CHECK((id == 1 || id == 3));
        }
    CHECK(sample(logits, {1}, {0.0})[0] == 1);
    CHECK(sample(logits, {1}, {1 - 0x1p-53})[0] == 3);
}

TEST_CASE("uniform numbers depend on seed, sample and step, and on nothing else", "[sampling]") {
    // From a computation in Python whose first number for seed 0, 0xe220a8397b1dcdaf, is the published one.
    CHECK(uniform_number(0, 0, 0) == 0.13870941014555427);
    CHECK(uniform_number(1, 2, 3) == 0.4175580595044027);
    CHECK(uniform_number(42, 0, 9) == 0.5367952854941959);
    std::vector<double> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (std::uint64_t s = 0; s < 20; ++s)
            for (std::uint64_t step = 0; step < 20; ++step) seen.push_back(uniform_number(seed, s, step));
    std::sort(seen.begin(), seen.end());
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    CHECK(seen.front() >= 0);
    CHECK(seen.back() < 1);
    // Kolmogorov-Smirnov against the uniform distribution; 2.6 is exceeded by chance in about one of a million cases.
    double distance = 0;
    const auto n = static_cast<double>(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i)
        distance = std::max(distance, std::abs(seen[i] - (static_cast<double>(i) + 0.5) / n));
    CHECK(distance * std::sqrt(n) < 2.6);
}

}  // namespace rldp::models::test

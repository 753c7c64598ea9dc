#include <algorithm>
#include <bit>
#include <cmath>

#include "eval/research/statistics/paired.hpp"
#include "tests/eval/research/statistics/samples.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

/// What `compute_p` would be without the pairing: the share of all ways to deal both arms' values into two halves under
/// which their sums are as far apart as observed.
double unpaired_p(const std::vector<double>& one, const std::vector<double>& other) {
    auto all = one;
    all.insert(all.end(), other.begin(), other.end());
    const auto distance = [&](unsigned first) {
        double out = 0;
        for (std::size_t i = 0; i < all.size(); ++i) out += (first >> i & 1) != 0 ? all[i] : -all[i];
        return std::abs(out);
    };
    const double observed = distance((1U << one.size()) - 1) - 1e-9;
    int ways = 0, far = 0;
    for (unsigned first = 0; first < 1U << all.size(); ++first) {
        if (static_cast<std::size_t>(std::popcount(first)) != one.size()) continue;
        ++ways;
        far += distance(first) >= observed;
    }
    return static_cast<double>(far) / ways;
}

/// √n·sup|F_n(p) − p| over the p-values themselves, where a valid discrete p-value has F(p) = p. Above 2.3 with
/// p < 5e-5 (Kolmogorov–Smirnov, which is cautious for a discrete law).
double departure(std::vector<double> ps) {
    std::sort(ps.begin(), ps.end());
    const auto n = static_cast<double>(ps.size());
    double worst = 0;
    for (const double p : ps) {
        const auto up_to = std::upper_bound(ps.begin(), ps.end(), p) - ps.begin();
        worst = std::max(worst, std::abs(static_cast<double>(up_to) / n - p));
    }
    return worst * std::sqrt(n);
}

}  // namespace

TEST_CASE("p is uniform where the methods are alike, however much the seeds differ") {
    draws random(5);
    std::vector<double> ps, without_pairs;
    for (int experiment = 0; experiment < 4000; ++experiment) {
        std::vector<double> one, other, differences;
        for (int seed = 0; seed < 6; ++seed) {
            const double shared = 5 * random.normal();
            one.push_back(shared + random.normal());
            other.push_back(shared + random.normal());
            differences.push_back(one.back() - other.back());
        }
        ps.push_back(compute_p(differences));
        if (experiment < 200) without_pairs.push_back(unpaired_p(one, other));
    }
    CHECK(departure(ps) < 2.3);
    CHECK(departure(without_pairs) > 4);  // to show that this test tells
}

TEST_CASE("p is small where one method is better, whichever") {
    for (const double shift : {-1.0, 1.0}) {
        draws random(6);
        int below = 0;
        for (int experiment = 0; experiment < 400; ++experiment) below += compute_p(normals(random, 12, shift)) <= 0.05;
        CHECK(below > 330);  // the t-test's power is 0.89
    }
}

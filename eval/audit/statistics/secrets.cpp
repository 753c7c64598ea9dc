#include <fmt/format.h>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "eval/audit/statistics/finite.hpp"
#include "eval/audit/statistics/nelder_mead.hpp"
#include "eval/audit/statistics/secrets.hpp"

namespace rldp::eval {
namespace {

using std::numbers::pi;

/// log Φ(x).
double log_normal_cdf(double x) {
    if (x > -30) return std::log(std::erfc(-x / std::numbers::sqrt2) / 2);
    const double u = 1 / (x * x);  // the asymptotic series (Abramowitz and Stegun 26.2.12): here to 1e-12
    return -x * x / 2 - std::log(-x * std::sqrt(2 * pi)) + std::log1p(-u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u))));
}

/// log(φ(z)·Φ(αz)) less a constant.
double log_shape(double z, double alpha) {
    return log_normal_cdf(alpha * z) - z * z / 2;
}

/// ξ, log ω, α; so every point is a law.
using parameters = point<3>;

/// The law of mean 0, deviation 1 and this skewness, brought within what a skew-normal can have.
parameters with_moments(double skewness) {
    const double skew = std::min(std::abs(skewness), 0.9), root = std::cbrt(skew * skew);
    const double size = std::sqrt(pi / 2 * root / (root + std::cbrt((4 - pi) * (4 - pi) / 4)));
    const double delta = std::copysign(size, skewness), scale = 1 / std::sqrt(1 - 2 * delta * delta / pi);
    return {-scale * delta * std::sqrt(2 / pi), std::log(scale), delta / std::sqrt(1 - delta * delta)};
}

/// Of sorted values.
double distance_to(const skew_normal& law, const std::vector<double>& sorted) {
    const auto n = static_cast<double>(sorted.size());
    double largest = 0, below = 0;
    for (const double value : sorted) {
        const double f = std::exp(log_cdf(law, value));
        largest = std::max({largest, f - below / n, (below + 1) / n - f});
        ++below;
    }
    return largest;
}

/// P[K > x] of Kolmogorov's limit law (Kolmogorov 1933).
double beyond_kolmogorov(double x) {
    if (x < 0.2) return 1;  // to 1e-12; the series below needs ever more terms
    double sum = 0;
    for (int k = 1; k < 20; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2 * k * k * x * x);
    return std::clamp(sum, 0.0, 1.0);
}

}  // namespace

double log_cdf(const skew_normal& law, double x) {
    const double direct = cdf(law, x);
    if (direct > 1e-6) return std::min(0.0, std::log(direct));
    // Further down the direct difference of Φ and Owen's T cancels: integrate the density relative to its value at x.
    const double z = (x - law.location()) / law.scale(), here = log_shape(z, law.shape());
    const auto relative = [&](double t) { return std::exp(log_shape(z - t, law.shape()) - here); };
    const double integral = boost::math::quadrature::exp_sinh<double>().integrate(relative);
    return here + std::log(integral) + std::log(2 / pi) / 2;
}

skew_normal_fit fit_skew_normal(std::vector<double> values) {
    check_finite("reference", values);
    if (std::ssize(values) < limits::fewest_references)
        refuse(
            fmt::format("{} references are too few to fit; give {} or more", values.size(), limits::fewest_references));
    std::sort(values.begin(), values.end());
    if (values.front() == values.back()) refuse(fmt::format("all references are {}: no law to fit", values.front()));
    namespace statistics = boost::math::statistics;
    const double mean = statistics::mean(values), deviation = std::sqrt(statistics::variance(values));
    const auto n = static_cast<double>(values.size());
    const auto mean_nll = [&](const parameters& at) {  // of the standardised values, less a constant
        const double scale = std::exp(at[1]);
        double sum = 0;
        for (const double value : values) sum += log_shape(((value - mean) / deviation - at[0]) / scale, at[2]);
        return at[1] - sum / n;
    };
    const auto [location, log_scale, shape] =
        minimise(mean_nll, with_moments(statistics::skewness(values)), 0.2, 1e-13);
    const skew_normal law(mean + deviation * location, deviation * std::exp(log_scale), shape);
    const double distance = distance_to(law, values);
    return {law, distance, beyond_kolmogorov(std::sqrt(n) * distance)};
}

double rank_exposure(double secret, const std::vector<double>& others) {
    check_finite("secret", {secret});
    check_finite("reference", others);
    const auto not_above = std::count_if(others.begin(), others.end(), [&](double other) { return other <= secret; });
    return std::log2(static_cast<double>(others.size() + 1)) - std::log2(static_cast<double>(not_above + 1));
}

double extrapolated_exposure(double secret, const skew_normal& references) {
    check_finite("secret", {secret});
    return std::abs(log_cdf(references, secret)) / std::numbers::ln2;  // never −0
}

namespace {

using grams = std::vector<std::uint32_t>;  // sorted, each once; four bytes make a word

grams list_grams(std::string_view text, std::size_t n) {
    grams out;
    for (std::size_t begin = 0; begin + n <= text.size(); ++begin) {
        std::uint32_t word = 0;
        for (const char c : text.substr(begin, n)) word = word << 8 | static_cast<unsigned char>(c);
        out.push_back(word);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

double compute_jaccard_index(const grams& a, const grams& b) {
    grams shared;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
    const auto all = a.size() + b.size() - shared.size();
    return all == 0 ? 0 : static_cast<double>(shared.size()) / static_cast<double>(all);
}

struct weighed {
    double value, times;
};

similarity summarise_values(const std::vector<weighed>& all) {
    double times = 0, sum = 0, squares = 0;
    for (const auto& one : all) times += one.times, sum += one.times * one.value;
    const double mean = sum / times;
    for (const auto& one : all) squares += one.times * (one.value - mean) * (one.value - mean);
    return {mean, std::sqrt(squares / times)};
}

}  // namespace

bool secret_like(std::string_view text) {
    const auto allowed = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
    return !text.empty() && std::ssize(text) <= limits::longest_secret &&
           std::all_of(text.begin(), text.end(), allowed);
}

std::optional<std::array<similarity, longest_gram>> jaccard(const std::vector<std::string>& generated,
                                                            const std::vector<std::string>& canaries) {
    if (generated.empty() || canaries.empty()) return std::nullopt;
    std::map<std::string_view, double> distinct;
    for (const auto& text : generated) ++distinct[text];
    std::array<similarity, longest_gram> out{};
    for (std::size_t n = 1; n <= longest_gram; ++n) {
        std::vector<grams> of_canaries;
        of_canaries.reserve(canaries.size());
        for (const auto& text : canaries) of_canaries.push_back(list_grams(text, n));
        std::vector<weighed> values;
        for (const auto& [text, times] : distinct) {
            const auto own = list_grams(text, n);
            for (const auto& other : of_canaries) values.push_back({compute_jaccard_index(own, other), times});
        }
        out[n - 1] = summarise_values(values);
    }
    return out;
}

}  // namespace rldp::eval

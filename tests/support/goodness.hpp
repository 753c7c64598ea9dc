#pragma once
// Tests of fit against N(0, s²). All thresholds below are far out (p < 1e-4) and the streams are seeded, so none is
// flaky.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

/// Kolmogorov–Smirnov: √n·sup|F_n − F|; above 2.3 with p = 5e-5.
inline double ks(std::span<const double> x, double deviation) {
    std::vector<double> sorted(x.begin(), x.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(sorted.size());
    double worst = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const double f = 0.5 * std::erfc(-sorted[i] / (deviation * std::sqrt(2.0)));
        const auto at = static_cast<double>(i);
        worst = std::max({worst, f - at / n, (at + 1) / n - f});
    }
    return worst * std::sqrt(n);
}

/// (Σx²/s² − n)/√(2n), nearly standard normal.
inline double variance_score(std::span<const double> x, double deviation) {
    double sum = 0;
    for (double v : x) sum += v * v / (deviation * deviation);
    const auto n = static_cast<double>(x.size());
    return (sum - n) / std::sqrt(2 * n);
}

/// √n times the correlation, nearly standard normal for independent samples.
inline double correlation_score(std::span<const double> x, std::span<const double> y) {
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += x[i] * y[i];
        xx += x[i] * x[i];
        yy += y[i] * y[i];
    }
    return xy / std::sqrt(xx * yy) * std::sqrt(static_cast<double>(x.size()));
}

inline bool fits(std::span<const double> x, double deviation) {
    return ks(x, deviation) < 2.3 && std::abs(variance_score(x, deviation)) < 4;
}

#pragma once
// Privacy loss distributions on a coarse lattice, and what strategies of an adversary reach with them: exact dynamic
// programming that shares no code with the accountants.
#include <algorithm>
#include <cmath>
#include <vector>

namespace lattice {

constexpr double spacing = 0.05;
constexpr int reach = 160;  // losses and ε from −8 to 8

/// Where the k-th point lies in a vector.
inline std::size_t place(int k) {
    const int from_the_end = k + reach;
    return static_cast<std::size_t>(from_the_end);
}

/// D(ε) on the lattice's points.
using curve = std::vector<double>;

inline double at(const curve& d, int k) {
    if (k > reach) return 0;
    return k < -reach ? -std::expm1(k * spacing) : d[place(k)];
}

/// The empty composition: (1 − e^ε)+.
inline curve nothing() {
    curve d(2 * reach + 1);
    for (int k = -reach; k <= reach; ++k) d[place(k)] = std::max(0.0, -std::expm1(k * spacing));
    return d;
}

/// A subsampled Gaussian step, remove direction: the least distribution on the lattice that dominates it. D(γ), γ =
/// e^ε, becomes piecewise linear; a kink of slope change s at γ is a mass of γ·s.
inline std::vector<double> step(double z, double q) {
    const auto exact = [&](double epsilon) {
        const double gamma = (std::expm1(epsilon) + q) / q;
        if (gamma <= 0) return -std::expm1(epsilon);
        const auto upper = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
        const double x = z * std::log(gamma) + 1 / (2 * z);
        return q * (upper(x - 1 / z) - gamma * upper(x));
    };
    std::vector<double> mass(2 * reach + 1);
    const auto slope = [&](int k) {  // between k and k + 1
        return (exact((k + 1) * spacing) - exact(k * spacing)) / (std::exp((k + 1) * spacing) - std::exp(k * spacing));
    };
    for (int k = -reach + 1; k < reach; ++k) mass[place(k)] = std::exp(k * spacing) * (slope(k) - slope(k - 1));
    return mass;
}

/// D after one more step in front: E over its loss of D at what is left. What is beyond the lattice's end counts in
/// full.
inline curve before(const std::vector<double>& mass, const curve& d) {
    double total = 0;
    for (const double m : mass) total += m;
    curve out(2 * reach + 1, std::max(0.0, 1 - total));
    for (int k = -reach; k <= reach; ++k)
        for (int l = -reach; l <= reach; ++l)
            if (const double m = mass[place(l)]; m > 0) out[place(k)] += m * at(d, k - l);
    return out;
}

inline curve repeated(const std::vector<double>& mass, int times, curve d) {
    for (int i = 0; i < times; ++i) d = before(mass, d);
    return d;
}

/// The best of two continuations, whatever the loss so far.
inline curve choose_best(const curve& a, const curve& b) {
    curve out(a.size());
    std::transform(a.begin(), a.end(), b.begin(), out.begin(), [](double x, double y) { return std::max(x, y); });
    return out;
}

}  // namespace lattice

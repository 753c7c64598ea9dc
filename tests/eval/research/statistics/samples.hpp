#pragma once
// Differences that several tests use.
#include <vector>

#include "eval/research/statistics/paired.hpp"
#include "tests/support/simulated.hpp"

/// Heights of 15 pairs of maize plants, crossed less self-fertilised, in eighths of an inch: Darwin (1876), and Fisher
/// (1935), "The Design of Experiments", chapter III.
inline const std::vector<double> darwins_maize = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};

/// n tenths between −0.9 and 1.4, mixed.
inline std::vector<double> tenths(int n) {
    std::vector<double> out(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (static_cast<double>(7 * i % 24) - 9) / 10;
    return out;
}

/// n normal numbers of deviation 1.
inline std::vector<double> normals(draws& random, int n, double mean) {
    std::vector<double> out(static_cast<std::size_t>(n));
    for (double& one : out) one = random.normal() + mean;
    return out;
}

inline double compute_p(const std::vector<double>& differences) {
    return rldp::eval::paired_permutation(differences, 1);
}

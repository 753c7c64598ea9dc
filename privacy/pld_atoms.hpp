#pragma once
// The privacy loss of one subsampled Gaussian step on a mesh.
#include <cstdint>
#include <vector>

#include "privacy/rdp.hpp"

namespace rldp::privacy {

/// Steps with less noise are priced as if a drawn unit were seen in the clear, which dominates any noise.
inline constexpr double least_resolved_multiplier = 0.05;

/// How finely a list of runs is discretised in one direction. The tilt e^{λL} tells where precision matters: at the
/// losses that decide about δ near the ε in question.
struct mesh {
    direction side;
    double lambda;
    double width;       ///< h: losses are an offset plus a multiple of h
    double cell_error;  ///< what a cell may add to ε
    double tail;        ///< upper tail probability of a normal beyond which a step's losses are cut off

    /// The mesh that puts the bound on ε about `tolerance` above the exact value.
    static mesh choose(direction side, double lambda, std::span<const run> runs, double tolerance, double tail);
};

/// A distribution of losses on offset + index·h that dominates one step's, with a mass at +∞.
struct loss_atoms {
    double offset;
    std::vector<std::int64_t> index;
    std::vector<double> mass;
    double infinite;
};
loss_atoms discretise(const run& step, const mesh& on);

}  // namespace rldp::privacy

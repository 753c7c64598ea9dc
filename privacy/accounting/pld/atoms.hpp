#pragma once
// The privacy loss of one subsampled Gaussian step on a mesh.
#include <cstdint>
#include <vector>

#include "privacy/accounting/pld/mesh.hpp"

namespace rldp::privacy {

/// A distribution of losses on offset + index·h that dominates one step's, with a mass at +∞.
struct loss_atoms {
    double offset;
    std::vector<std::int64_t> index;
    std::vector<double> mass;
    double infinite;
};
loss_atoms discretise(const phase& step, const mesh& on);

}  // namespace rldp::privacy

#pragma once
// How far a noise multiplier that is chosen while training may lie from z_0: a factor of two on either side.
#include <algorithm>

namespace rldp::privacy {

struct noise_range {
    explicit noise_range(double initial) : least(initial / 2), most(2 * initial) {}

    double clamp(double z) const { return std::clamp(z, least, most); }
    /// Up to what another processor's arithmetic may change.
    bool contains(double z) const { return z >= least * (1 - 1e-9) && z <= most * (1 + 1e-9); }

    double least, most;
};

}  // namespace rldp::privacy

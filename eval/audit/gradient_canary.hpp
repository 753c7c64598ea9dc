#pragma once
// Canaries that are gradients instead of records: random directions, known to the audit, of a norm that every clip
// cuts.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "privacy/mechanism/step_order.hpp"

namespace rldp::eval {

struct gradient_canaries {
    std::int64_t seed = 0;  ///< public
    std::vector<privacy::segment> segments;
    double norm = 0;  ///< of each group's part
};

/// Canary `number`: ±norm/√d_i on the d_i coordinates of group i, so that whatever the clip's groups, it uses all of
/// its sensitivity. float32 [D]. Two of them are almost orthogonal.
at::Tensor canary_gradient(const gradient_canaries& how, std::int64_t number);

/// ⟨trace, canary⟩ of canaries 0 … count − 1 at norm 1: larger for one that was in (release_trace).
std::vector<double> trace_scores(const gradient_canaries& how, const at::Tensor& trace, std::int64_t count);

}  // namespace rldp::eval

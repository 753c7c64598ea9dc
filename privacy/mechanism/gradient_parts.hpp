#pragma once
// A micro-batch's per-unit gradients where [b, D] of them would be too much to hold: the clipper is told bounds of
// their norms first, and is shown the numbers, part by part, when it knows the factors. Trusted side.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace rldp::privacy {

class gradient_parts {
  public:
    virtual ~gradient_parts() = default;
    virtual std::int64_t units() const = 0;
    /// Coordinates of each part, in the order of the flat gradient; they cover it, and none lies across two segments.
    virtual const std::vector<std::int64_t>& sizes() const = 0;
    /// [b, parts] float64 on the CPU: no part of what show() shows is longer, in L2. Not finite where a unit is to
    /// count as zero.
    virtual at::Tensor norm_bounds() const = 0;
    /// Calls `see` with each wanted unit's coordinates from `offset` on, float32 [n], contiguous, of one part; what is
    /// not shown is zero. The numbers are overwritten afterwards.
    using viewer = std::function<void(std::int64_t unit, std::int64_t offset, const at::Tensor& numbers)>;
    virtual void show(const std::vector<bool>& wanted, const viewer& see) const = 0;
};

}  // namespace rldp::privacy

#pragma once

namespace rldp::eval {

/// Where a figure that carries noise lies with 95 %, for the noise alone (docs/privacy.md §13).
struct interval {
    double low = 0, high = 0;
    bool operator==(const interval&) const = default;
};

}  // namespace rldp::eval

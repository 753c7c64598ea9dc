#pragma once
// Statistics of measured numbers begin by refusing those that are none.
#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rldp::eval {

/// Errors: bad_input for the first value that is infinite or NaN, named as `what`.
inline void check_finite(std::string_view what, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i])) refuse(fmt::format("{} {} is {}, no finite number", what, i, values[i]));
}

}  // namespace rldp::eval

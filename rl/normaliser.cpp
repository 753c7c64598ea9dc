#include "rl/normaliser.hpp"

#include <algorithm>
#include <cmath>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::rl {

std::vector<double> normaliser::add(const std::vector<double>& values) {
    require(values.size() == mean_.size(), "controller: an observation of the wrong size");
    ++count_;
    const auto n = static_cast<double>(count_);
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) throw error(errc::failed, "controller: an observation that is not finite");
        const double before = values[i] - mean_[i];
        mean_[i] += before / n;
        const double after = values[i] - mean_[i];
        m2_[i] += before * after;
        // A number that has never changed carries nothing. An outlier after a long quiet time would saturate the
        // encoder.
        if (m2_[i] > 0) result[i] = std::clamp(after / std::sqrt(m2_[i] / n), -10.0, 10.0);
    }
    return result;
}

void normaliser::restore(const state& from) {
    if (from.mean.size() != mean_.size() || from.m2.size() != m2_.size() || from.count < 0)
        refuse(
            "controller checkpoint: an observation of another size than this configuration's; resume with the run's "
            "own");
    mean_ = from.mean;
    m2_ = from.m2;
    count_ = from.count;
}

}  // namespace rldp::rl

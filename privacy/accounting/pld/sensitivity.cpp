#include "privacy/accounting/pld/sensitivity.hpp"

#include <algorithm>
#include <cmath>

namespace rldp::privacy {

sensitivity::sensitivity(double lambda, const std::vector<double>& mass, double lowest, double width, double epsilon,
                         double slope)
    : lambda_(lambda), above_(mass.size() + 1), lowest_(lowest), width_(width), epsilon_(epsilon), slope_(slope) {
    for (std::size_t k = mass.size(); k-- > 0;) above_[k] = above_[k + 1] + mass[k];
}

double sensitivity::composed(double loss, double mean) const {
    if (above_.empty()) return 0;
    const double spread = std::max(0.3 * std::abs(loss), 2 * width_), centre = epsilon_ - loss + mean;
    const auto sum_above = [&](double x) {
        const double k = std::clamp((x - lowest_) / width_, 0.0, static_cast<double>(above_.size() - 1));
        return above_[static_cast<std::size_t>(k)];
    };
    return (sum_above(centre - spread) - sum_above(centre + spread)) / (2 * spread) / slope_;
}

}  // namespace rldp::privacy

#include "actors/run/padding.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "config/open_keys.hpp"

namespace rldp::actors {

std::optional<padding> padding_of(const config::run_config& config, std::int64_t population, std::int64_t max_tokens) {
    if (!config.privacy.pad_batches) return std::nullopt;
    const auto batch = config::batch_of(config);
    const auto n = static_cast<double>(population);
    const boost::math::binomial draw(n, static_cast<double>(batch) / n);
    const double factor = static_cast<double>(config::planned_steps(config, population)) *
                          (1 + std::exp(std::min(config.privacy.epsilon, 700.0)));
    const auto cost = [&](std::int64_t room) {
        return room >= population ? 0.0 : factor * boost::math::cdf(complement(draw, static_cast<double>(room)));
    };
    padding out;
    out.units = std::min(batch, population);
    while (cost(out.units) > config.privacy.delta / 100) ++out.units;
    out.delta = cost(out.units);
    out.shape = {.records = config.privacy.unit_is_group ? config.privacy.max_records_per_unit : 1,
                 .tokens = max_tokens};
    return out;
}

}  // namespace rldp::actors

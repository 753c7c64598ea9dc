#include "actors/run/padding.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "config/open_keys.hpp"

namespace rldp::actors {

namespace {

/// The probability that more than `room` of N units are drawn and fall to one of so many ranks.
double excess(std::int64_t population, std::int64_t batch, std::size_t ranks, std::int64_t room) {
    if (room >= population) return 0;
    const auto n = static_cast<double>(population);
    const boost::math::binomial draw(n, static_cast<double>(batch) / n / static_cast<double>(ranks));
    return boost::math::cdf(complement(draw, static_cast<double>(room)));
}

}  // namespace

std::optional<padding> padding_of(const config::run_config& config, std::int64_t population, std::int64_t max_tokens) {
    if (!config.privacy.pad_batches) return std::nullopt;
    const auto batch = config::batch_of(config);
    const double factor = static_cast<double>(config::planned_steps(config, population)) *
                          (1 + std::exp(std::min(config.privacy.epsilon, 700.0)));
    const auto cost = [&](std::int64_t room) { return factor * excess(population, batch, 1, room); };
    padding out;
    out.units = std::min(batch, population);
    while (cost(out.units) > config.privacy.delta / 100) ++out.units;
    out.delta = cost(out.units);
    out.shape = {.records = config.privacy.unit_is_group ? config.privacy.max_records_per_unit : 1,
                 .tokens = max_tokens};
    return out;
}

padding padding_of_rank(const padding& all, const config::run_config& config, std::int64_t population,
                        std::size_t ranks) {
    auto out = all;
    if (ranks == 1) return out;
    const auto batch = config::batch_of(config);
    const double most = excess(population, batch, 1, all.units);
    const auto count = static_cast<std::int64_t>(ranks);
    out.units = std::min(population, (batch + count - 1) / count);
    while (static_cast<double>(ranks) * excess(population, batch, ranks, out.units) > most) ++out.units;
    return out;
}

}  // namespace rldp::actors

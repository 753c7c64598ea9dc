#include "actors/run/padding.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

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

std::optional<padding> choose_padding(const config::run_spec& spec, std::int64_t max_tokens) {
    if (!spec.privacy.pad_batches) return std::nullopt;
    const auto batch = spec.train.expected_batch_size, population = spec.privacy.population;
    const double factor =
        static_cast<double>(spec.train.steps) * (1 + std::exp(std::min(spec.privacy.epsilon_budget, 700.0)));
    const auto cost = [&](std::int64_t room) { return factor * excess(population, batch, 1, room); };
    padding out;
    out.units = std::min(batch, population);
    while (cost(out.units) > spec.privacy.delta / 100) ++out.units;
    out.delta = cost(out.units);
    out.shape = {.records = spec.records_per_unit, .tokens = max_tokens};
    return out;
}

padding padding_of_rank(const padding& all, const config::run_spec& spec, std::size_t ranks) {
    auto out = all;
    if (ranks == 1) return out;
    const auto batch = spec.train.expected_batch_size, population = spec.privacy.population;
    const double most = excess(population, batch, 1, all.units);
    const auto count = static_cast<std::int64_t>(ranks);
    out.units = std::min(population, (batch + count - 1) / count);
    while (static_cast<double>(ranks) * excess(population, batch, ranks, out.units) > most) ++out.units;
    return out;
}

}  // namespace rldp::actors

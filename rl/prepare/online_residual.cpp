#include "rl/prepare/online_residual.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::rl {

using nlohmann::json;

namespace {

constexpr std::int64_t updates = 8;  // after a decision

// A run has some twenty decisions: a small batch, or nothing would ever be learned; the rates are the preparation's.
residual_sac_config learner_config(const prepared_policy& from, std::size_t adapters, std::uint64_t seed) {
    return {.hidden = from.parts().hidden,
            .batch = 8,
            .replay = 1024,
            .most_adapters = static_cast<std::int64_t>(adapters),
            .seed = seed};
}

json to_json(const policy_action& one) {
    return {one.rate, one.rates, one.shares};
}
json to_json(const policy_observation& one) {
    return {one.adapters, one.global};
}

}  // namespace

online_residual::online_residual(std::shared_ptr<const prepared_policy> from, std::size_t adapters, std::uint64_t seed)
    : from_(std::move(from)),
      learner_(learner_config(*from_, adapters, seed), from_->parts().actor),
      adapters_(adapters),
      seed_(seed) {}

policy_action online_residual::decide(const policy_observation& seen, double log_public_loss) {
    require(std::isfinite(log_public_loss), "a loss on public records that is not finite");
    const auto& parts = from_->parts();
    auto now = parts.normaliser(seen);
    if (open_)
        learner_.remember(
            {std::move(open_->seen), std::move(open_->raw), open_->log_public_loss - log_public_loss, now});
    splitmix random(seed_, ++decisions_);
    auto raw = sampled(compute_raw_policy(learner_.nets(), learner_.actor(), now), random);
    auto out = with_residual(parts.how(seen), raw, parts.guard.part(now));
    open_ = open_step{std::move(now), std::move(raw), log_public_loss};
    return out;
}

void online_residual::learn() {
    learner_.learn(updates);
}

json online_residual::save() const {
    json out = {{"learner", learner_.save()}, {"decisions", decisions_}};
    if (open_) out["open"] = {to_json(open_->seen), to_json(open_->raw), open_->log_public_loss};
    return out;
}

void online_residual::load(const json& saved) {
    learner_.load(saved.at("learner"));
    decisions_ = saved.at("decisions");
    open_.reset();
    if (!saved.contains("open")) return;
    const auto& open = saved.at("open");
    open_ = open_step{
        {open.at(0).at(0), open.at(0).at(1)}, {open.at(1).at(0), open.at(1).at(1), open.at(1).at(2)}, open.at(2)};
    for (const auto count : {open_->seen.adapters.size(), open_->raw.rates.size(), open_->raw.shares.size()})
        refuse_unless(count == adapters_,
                      "controller checkpoint: it is of another number of adapters; bring back the run's own");
}

}  // namespace rldp::rl

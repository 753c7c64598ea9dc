#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "rl/prepared/prepared_controller.hpp"
#include "rl/prepared/splitmix.hpp"

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
    return {one.rate, one.rates};
}
json to_json(const policy_observation& one) {
    return {one.adapters, one.global, one.scored};
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
        {open.at(0).at(0), open.at(0).at(1), open.at(0).at(2)}, {open.at(1).at(0), open.at(1).at(1)}, open.at(2)};
    for (const auto count : {open_->seen.adapters.size(), open_->raw.rates.size()})
        refuse_unless(count == adapters_,
                      "controller checkpoint: it is of another number of adapters; bring back the run's own");
}

namespace {

// Each move goes as far as the policy's, up or down by a toss.
policy_action tossed(const policy_action& chosen, const policy_action& last, splitmix& random) {
    const auto either = [&](double by) { return random.uniform(-1, 1) < 0 ? -by : by; };
    policy_action out = last;
    out.rate += either(chosen.rate - last.rate);
    for (std::size_t i = 0; i < out.rates.size(); ++i) out.rates[i] += either(chosen.rates[i] - last.rates[i]);
    return within_limits(std::move(out));
}

json to_json(const std::vector<adapter_features>& block) {
    auto out = json::array();
    for (const auto& one : block) out.push_back({one.signal, one.cosine, one.along, one.update});
    return out;
}

std::vector<adapter_features> read_features(const json& block, std::size_t adapters) {
    refuse_unless(block.size() == adapters, "controller checkpoint: its blocks are of another number of adapters");
    std::vector<adapter_features> out;
    for (const auto& one : block) out.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
    return out;
}

}  // namespace

prepared_controller::prepared_controller(std::shared_ptr<const prepared_policy> how, const run_terms& terms,
                                         controller_mode mode)
    : how_(std::move(how)), terms_(terms), mode_(mode), last_(neutral(terms.plan.adapters)) {
    require(terms.plan.adapters > 0, "a controller needs adapters");
    require_positive(terms.noise_multiplier, "the noise multiplier");
    require(!terms.online || mode == controller_mode::learned, "only a policy that steers learns on");
    if (terms.online) learner_.emplace(how_, terms.plan.adapters, terms.seed);
}

prepared_controller::sight prepared_controller::show(const block_observation& seen) {
    if (mode_ != controller_mode::shuffled) return {seen.features, seen.score};
    blocks_.push_back({seen.features, seen.score});
    splitmix random(terms_.seed, static_cast<std::uint64_t>(decisions_));
    auto out = blocks_[static_cast<std::size_t>(random.integer(0, std::ssize(blocks_) - 1))];
    // An earlier block's score has this run's sign still; as often as not it is told the other way round.
    if (out.score && random.uniform(-1, 1) < 0) out.score = -*out.score;
    return out;
}

policy_observation prepared_controller::make_observation(double time, const sight& shown) const {
    const auto adapters = terms_.plan.adapters;
    require(shown.features.size() == adapters, "a prepared controller needs the signs of every adapter");
    policy_observation out;
    out.global = {
        time, terms_.plan.noise, std::log(terms_.epochs), shown.score.value_or(0), count_feature(scores_), last_.rate};
    out.scored = shown.score.has_value();
    for (std::size_t i = 0; i < adapters; ++i) {
        const auto& one = shown.features[i];
        out.adapters.push_back({one.signal, one.cosine, one.along, std::log(one.update), last_.rates[i]});
    }
    return out;
}

policy_action prepared_controller::chosen_at(const policy_observation& now, const block_observation& seen) {
    if (learner_) {
        require(seen.log_public_loss.has_value(), "a controller that learns needs the loss on public records");
        return learner_->decide(now, *seen.log_public_loss);
    }
    if (mode_ == controller_mode::deaf) return how_->parts().usual(now);
    const auto chosen = how_->act(now);
    if (mode_ != controller_mode::random) return chosen;
    splitmix random(terms_.seed, static_cast<std::uint64_t>(decisions_));
    return tossed(chosen, last_, random);
}

block_action prepared_controller::decide(const block_observation& seen) {
    block_action out;
    out.noise_multiplier = terms_.noise_multiplier;
    ++decisions_;
    if (mode_ == controller_mode::frozen) return out;
    const auto shown = show(seen);
    if (shown.score) ++scores_;
    const auto now = make_observation(seen.time, shown);
    last_ = chosen_at(now, seen);
    out.trust = how_->trust(now);
    out.lr_factor = std::exp(last_.rate);
    for (const double rate : last_.rates) out.rates.push_back(std::exp(rate));
    return out;
}

void prepared_controller::learn() {
    if (learner_) learner_->learn();
}

std::string prepared_controller::save() const {
    auto blocks = json::array();
    for (const auto& one : blocks_)
        blocks.push_back({{"features", to_json(one.features)}, {"score", one.score ? json(*one.score) : json()}});
    json out = {{"rate", last_.rate},
                {"rates", last_.rates},
                {"decisions", decisions_},
                {"scores", scores_},
                {"blocks", blocks}};
    if (learner_) out["learner"] = learner_->save();
    const auto bytes = json::to_cbor(out);
    return {bytes.begin(), bytes.end()};
}

void prepared_controller::load(const std::string& bytes) try {
    const auto in = json::from_cbor(bytes);
    last_ = {in.at("rate"), in.at("rates")};
    refuse_unless(last_.rates.size() == terms_.plan.adapters,
                  "controller checkpoint: it is of another number of adapters; bring back the run's own");
    decisions_ = in.at("decisions");
    scores_ = in.at("scores");
    blocks_.clear();
    for (const auto& one : in.at("blocks")) {
        const auto& score = one.at("score");
        blocks_.push_back({read_features(one.at("features"), terms_.plan.adapters),
                           score.is_null() ? std::nullopt : std::optional<double>(score.get<double>())});
    }
    if (learner_) learner_->load(in.at("learner"));
} catch (const json::exception& reason) {
    refuse(std::string("controller checkpoint: ") + reason.what() + "; it is damaged, resume from an older one");
}

}  // namespace rldp::rl

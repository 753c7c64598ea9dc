// The deck: a multiset of noise levels fixed before training, dealt in the controller's order.
//
// Proof obligation. Per direction, let (P_s, Q_s) dominate one step of level s and D(M, γ) be the hockey-stick
// divergence at γ of the product over a multiset M of steps. Let V(S, γ) be the largest that a strategy reaches which
// deals the cards S one by one, each choice a function of all earlier outcomes, a card being I steps and the last one
// dealt r ≤ I. Let S' be S with one card of its least expensive level (the largest z) shortened to r. Claim: V(S, γ) =
// D(S', γ).
//   |S| = 1: by definition. Otherwise V(S, γ) = max over s of E_{Q_s^I}[Λ·V(S∖s, γ/Λ)], Λ the likelihood ratio of s's I
//   steps, and by induction the expectation is D(s^I ∪ (S∖s)', γ). If another card of the largest z is left in S∖s,
//   that multiset is S'. If s was the only one, it is S' with I − r steps of a smaller z' exchanged for as many of the
//   largest z, and a step at the larger z is post-processing (added noise) of one at z', so its product is dominated by
//   S'.
// So every order costs at most S', and dealing the largest z last attains it: the price is tight. x·H(γ/x) is convex,
// so replacing a step by its dominating pair can't lower the value. Stopping early, or leaving steps out on what was
// released, is post-processing of running on. What is guaranteed is S' from the first release on.
//
// Several runs with a deck each, one after another: the same with V(S, γ) + R, R the product over the decks of the runs
// to come. The base case is D(s^r ∪ R, γ), and the induction goes through as it stands, so the first run costs at most
// S' whatever comes after it; then the next one's. All together cost the union of their S'.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "privacy/spending/policy_check.hpp"

namespace rldp::privacy {
namespace {

constexpr double tie = 1e-9;  // of a logarithm of z: nearer than this is equally near

/// Levels as multiples of z_0, ascending.
std::vector<double> level_multiples(std::size_t levels, double ratio) {
    std::vector<double> out(levels, 1.0);
    for (std::size_t i = 0; levels > 1 && i < levels; ++i)
        out[i] = std::pow(ratio, static_cast<double>(i) / static_cast<double>(levels - 1) - 0.5);
    return out;
}

/// Equal counts; the remainder goes to the levels nearest z_0, ties to the larger.
std::vector<std::int64_t> level_counts(const std::vector<double>& multiples, std::int64_t blocks) {
    const auto levels = static_cast<std::int64_t>(multiples.size());
    std::vector<std::int64_t> counts(multiples.size(), blocks / levels);
    std::vector<std::size_t> order(multiples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto distance = [&](std::size_t i) { return std::abs(std::log(multiples[i])); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::abs(distance(a) - distance(b)) > tie ? distance(a) < distance(b) : a > b;
    });
    for (std::int64_t i = 0; i < blocks % levels; ++i) ++counts[order[static_cast<std::size_t>(i)]];
    return counts;
}

class deck_policy final : public spending_policy {
  public:
    explicit deck_policy(const spending_plan& plan)
        : rate_(plan.sample_rate), interval_(plan.interval), runs_(plan.runs), steps_(plan.steps) {
        const std::int64_t blocks = (plan.steps - 1) / plan.interval + 1;
        const auto multiples =
            level_multiples(static_cast<std::size_t>(std::min(blocks, plan.deck_levels)), plan.deck_ratio);
        const auto counts = level_counts(multiples, blocks);
        for (std::size_t i = 0; i < multiples.size(); ++i)
            deck_.insert(deck_.end(), static_cast<std::size_t>(counts[i]),
                         card{multiples[i], std::min(plan.interval, plan.steps)});
        level_ = calibrate(*bounding_accountant(plan), committed(), plan.epsilon_budget, plan.delta);
        for (card& each : deck_) each.noise_multiplier *= level_.noise_multiplier;
        dealt_.resize(deck_.size());
        if (!plan.ledger_deck.empty()) keep(plan.ledger_deck);
    }
    double initial_noise_multiplier() const override { return level_.noise_multiplier; }
    double epsilon_guaranteed() const override { return level_.epsilon; }
    std::vector<phase> committed() const override {
        return repeat(priced_phases(deck_, rate_, steps_.planned()), runs_);
    }
    std::vector<card> deck() const override { return deck_; }

    std::optional<grant> next(std::int64_t step, double requested) override {
        if (!steps_.open(step)) return std::nullopt;
        const std::int64_t block = find_block(step);
        if (block != block_) {
            if (block > 0) check_request(step, requested);
            deal(block, nearest(block == 0 ? level_.noise_multiplier : requested));
        }
        steps_.take(step);
        return grant{deck_[current_].noise_multiplier, current_};
    }

    void replay(std::int64_t step, const grant& granted) override {
        if (!steps_.open(step)) refuse_replay(step, granted, "the plan ends before");
        if (!granted.card || *granted.card >= deck_.size()) refuse_replay(step, granted, "the deck has no such card");
        const std::size_t index = *granted.card;
        const std::int64_t block = find_block(step);
        if (!same_multiplier(granted.noise_multiplier, deck_[index].noise_multiplier))
            refuse_replay(step, granted, fmt::format("its noise multiplier is {}", deck_[index].noise_multiplier));
        if (block == block_ ? index != current_ : dealt_[index])
            refuse_replay(step, granted, block == block_ ? "the block has another card" : "the card was dealt before");
        if (block == 0 && block != block_ && index != nearest(level_.noise_multiplier))
            refuse_replay(step, granted, "the first block takes the card nearest z_0");
        if (block != block_) deal(block, index);
        steps_.take(step);
    }

  private:
    /// What is guaranteed is the ledger's deck: it stands to the last bit.
    void keep(const std::vector<card>& written) {
        const bool same =
            std::equal(deck_.begin(), deck_.end(), written.begin(), written.end(), [](const card& a, const card& b) {
                return same_multiplier(a.noise_multiplier, b.noise_multiplier) && a.steps == b.steps;
            });
        if (!same)
            refuse("ledger: its deck is not the one that this plan makes; resume with the run's own configuration");
        deck_ = written;
    }
    std::int64_t find_block(std::int64_t step) const { return (step - 1) / interval_; }

    void deal(std::int64_t block, std::size_t index) {
        block_ = block;
        current_ = index;
        dealt_[index] = true;
    }

    /// The remaining card nearest in log, ties to the larger z; of equal cards the first. One is always left: a block
    /// takes at most one and there are as many as blocks.
    std::size_t nearest(double requested) const {
        std::optional<std::size_t> best;
        double best_distance = 0;
        for (std::size_t i = 0; i < deck_.size(); ++i) {
            if (dealt_[i]) continue;
            const double distance = std::abs(std::log(deck_[i].noise_multiplier) - std::log(requested));
            const bool larger = best && deck_[i].noise_multiplier > deck_[*best].noise_multiplier;
            if (!best || distance < best_distance - tie || (larger && distance < best_distance + tie)) {
                best = i;
                best_distance = distance;
            }
        }
        return best.value();
    }

    double rate_;
    std::int64_t interval_, runs_;
    step_counter steps_;
    std::vector<card> deck_;  ///< ascending
    calibration level_{};
    std::vector<bool> dealt_;
    std::int64_t block_ = -1;
    std::size_t current_ = 0;  ///< card of block_
};

}  // namespace

std::vector<phase> priced_phases(const std::vector<card>& deck, double sample_rate, std::int64_t steps) {
    std::vector<phase> phases;
    std::int64_t total = 0;
    for (const card& each : deck) {
        total += each.steps;
        if (!phases.empty() && phases.back().noise_multiplier == each.noise_multiplier) {
            phases.back().steps += each.steps;
        } else {
            phases.push_back({each.noise_multiplier, sample_rate, each.steps});
        }
    }
    const auto most_noise = std::max_element(phases.begin(), phases.end(), [](const phase& a, const phase& b) {
        return a.noise_multiplier < b.noise_multiplier;
    });
    // The excess is less than one block, hence never more than this level has.
    if (most_noise != phases.end()) most_noise->steps -= std::max<std::int64_t>(0, total - steps);
    return phases;
}

std::unique_ptr<spending_policy> make_deck_policy(const spending_plan& plan) {
    return std::make_unique<deck_policy>(plan);
}

}  // namespace rldp::privacy

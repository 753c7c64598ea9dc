#include "actors/run/step_machine.hpp"

#include <utility>

namespace rldp::actors {

step_machine::step_machine(rl::training training, evaluation_times times, iterate_choice choice, public_probe probe)
    : training_(std::move(training)), times_(times), choice_(std::move(choice)), probe_(std::move(probe)) {
    look_at_schedule();
    checkpoint_ = false;  // that is where it begins
}

step_machine::due step_machine::next() const {
    if (decision_) return due::decision;
    if (evaluation_) return due::evaluation;
    if (checkpoint_) return due::checkpoint;
    return training_.finished() ? due::end : due::step;
}

rl::block_observation step_machine::observe(double epsilon_spent) {
    auto out = training_.observe(epsilon_spent);
    if (probe_) out.log_public_loss = probe_(training_.adapter());
    return out;
}

void step_machine::decide(const rl::block_action& chosen) {
    training_.set(chosen);
    decision_ = false;
}

eval::metrics_line step_machine::apply(const privacy::charge& charged, const privacy::release* released,
                                       const eval::progress_price& progress) {
    auto radii = training_.radii();
    std::optional<eval::metrics_line::steering> steered;
    if (const auto& set = training_.chosen(); set.trust) steered = {set.lr_factor, set.rates, set.shares, *set.trust};
    if (released != nullptr)
        training_.apply(*released);
    else
        training_.skip();
    if (training_.finished() && choice_ && choice_(training_.adapter(), training_.average())) training_.keep_last();
    look_at_schedule();
    decision_ = training_.decision_due();
    return {.step = training_.step(),
            .loss_released = training_.released_loss(),
            .noise_multiplier = charged->noise_multiplier,
            .radii = std::move(radii),
            .progress = progress,
            .eval_perplexity = std::nullopt,
            .steered = std::move(steered),
            .ledger = charged->hash};
}

std::string step_machine::kept() const {
    if (!choice_ || !training_.finished()) return {};
    return training_.keeps_last() ? "last" : "average";
}

void step_machine::restore(const rl::training::state& from) {
    training_.restore(from);
    look_at_schedule();
    checkpoint_ = false;
}

void step_machine::look_at_schedule() {
    const auto step = training_.step();
    evaluation_ = times_.due(step) || (times_.looks.empty() && training_.finished());
    checkpoint_ = (step % times_.every == 0 || owed_) && !training_.finished();
}

}  // namespace rldp::actors

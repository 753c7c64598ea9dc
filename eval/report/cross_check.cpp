#include "eval/report/certificate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "privacy/spending/policy.hpp"

namespace rldp::eval {
namespace {

/// Compares the values of one file with those of the ledger.
class comparison {
  public:
    explicit comparison(std::string file) : file_(std::move(file)) {}

    template <class T>
    void same(const char* key, const T& here, const T& ledgers) const {
        if (here != ledgers) differ(key, fmt::format("{}", here), fmt::format("{}", ledgers));
    }
    /// Up to what another processor or version of the accountant may change.
    void near(const std::string& key, double here, double ledgers) const {
        constexpr double tolerance = 1e-3;
        const bool equal = here == ledgers || std::abs(here - ledgers) <= tolerance * std::abs(ledgers);
        if (!equal) differ(key, fmt::format("{}", here), fmt::format("{}", ledgers));
    }
    [[noreturn]] void differ(const std::string& key, const std::string& here, const std::string& ledgers) const {
        refuse(fmt::format("{}: {} is {}, but the ledger says {}: they are of different runs, or one was edited", file_,
                           key, here, ledgers));
    }

  private:
    std::string file_;
};

/// Deals the ledger's deck in the ledger's order, with the configuration's blocks: verify(ledger_content) knows none.
void replay_deck(const config::deck_section& deck, std::int64_t interval, const privacy::ledger_content& ledger) {
    auto plan = privacy::to_spending_plan(ledger.header);
    plan.interval = interval;
    plan.deck_levels = deck.levels;
    plan.deck_ratio = deck.ratio;
    plan.ledger_deck = ledger.header.deck;
    const auto policy = privacy::make_policy(policy_kind::deck, plan);
    for (const auto& made : ledger.charges) policy->replay(made->step, {made->noise_multiplier, made->card});
}

}  // namespace

void check_configuration(const std::filesystem::path& file, const privacy::ledger_content& ledger) {
    const auto config = config::load(file, {});
    const auto& header = ledger.header;
    const comparison with("public/config.json");
    with.same("privacy.semantics", name_of(config.privacy.semantics), name_of(header.semantics));
    with.same("noise.insecure_reproducible", config.noise.insecure_reproducible, header.insecure_reproducible);
    with.same("privacy.epsilon", config.privacy.epsilon, header.epsilon_budget);
    with.same("privacy.delta", config.privacy.delta, header.delta);
    with.same("privacy.accountant", config.privacy.accountant, header.accountant);
    with.same("privacy.unit", config.privacy.unit, header.unit);
    with.same("data.split", name_of(config.data.split), header.split);
    if (header.version >= 3) {
        with.same("eval.publish", name_of(config.eval.publish), name_of(header.held_out));
        with.same("the number of looks at held-out units",
                  std::ssize(config::look_steps(config.eval.looks_made(), header.steps)), header.looks.count);
    }
    with.same("privacy.population", config.privacy.population.value_or(header.population), header.population);
    const auto batch = static_cast<double>(config::read_batch_size(config));
    with.same("train.expected_batch_size over the population", batch / static_cast<double>(header.population),
              header.sample_rate);
    with.same("the number of steps", config::planned_steps(config, header.population), header.steps);
    with.same("noise.policy", name_of(config::resolve_choices(config).policy), header.policy);
    with.same("noise.bands", config.noise.bands.value_or(1), header.bands);
    with.same("privacy.runs", config.privacy.runs, header.runs);
    if (!config.privacy.pad_batches)
        with.same("the part of δ that draws beyond the padding need", 0.0, header.padding_delta);
    if (header.policy == name_of(policy_kind::deck))
        replay_deck(config.noise.deck, config::chosen(config.rl.interval, "rl.interval"), ledger);
}

void check_summary(const run_summary& summary, const privacy::ledger_content& ledger) {
    const auto& header = ledger.header;
    const comparison with("public/summary.json");
    with.same("semantics", name_of(summary.semantics), name_of(header.semantics));
    with.same("insecure_reproducible", summary.insecure_reproducible, header.insecure_reproducible);
    with.same("epsilon_budget", summary.epsilon_budget, header.epsilon_budget);
    with.same("guaranteed_epsilon", summary.epsilon_guaranteed, header.epsilon_guaranteed);
    with.same("delta", summary.delta, header.delta);
    with.same("sample_rate", summary.sample_rate, header.sample_rate);
    with.same("bands", summary.bands, header.bands);
    with.same("runs", summary.runs, header.runs);
    with.same("units", summary.units, header.population);
    with.same("steps_planned", summary.steps_planned, header.steps);
    with.same("policy", summary.policy, header.policy);
    with.same("unit", summary.unit, header.unit);
    with.same("held_out", name_of(summary.held_out), name_of(header.held_out));
    with.same("looks: count", summary.looks, header.looks.count);
    with.same("looks: noise_multiplier", summary.looks_noise_multiplier, header.looks.noise_multiplier);
    with.same("split", summary.split, header.split);
    const auto levels = privacy::priced_phases(header.deck, header.sample_rate, header.steps);
    with.same("the number of deck levels", summary.deck.size(), levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
        with.same("deck: noise_multiplier", summary.deck[i].first, levels[i].noise_multiplier);
        with.same("deck: steps", summary.deck[i].second, levels[i].steps);
    }
    // A run that was interrupted may have gone on since.
    if (summary.how == ending::interrupted) return;
    if (summary.how == ending::done)
        with.same("the last step, by status done,", header.steps,
                  ledger.charges.empty() ? 0 : ledger.charges.back()->step);
    const auto spent = ledger.phases();
    for (const auto& [name, epsilon] : summary.epsilon_spent)
        with.near("epsilon." + name, epsilon, privacy::make_accountant(name)->epsilon(spent, header.mechanism_delta()));
}

}  // namespace rldp::eval

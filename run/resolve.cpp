#include "run/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"
#include "config/methods.hpp"
#include "privacy/accounting/bands.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/risk_statement.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "run/factories.hpp"
#include "run/inputs.hpp"
#include "run/memory.hpp"
#include "run/plan.hpp"
#include "run/ranks/team.hpp"

namespace rldp::actors {

namespace {

/// What lora.targets comes to.
std::optional<config::choice> settle_targets(config::run_config& config, const models::model_config& model) {
    const auto reading = config::to_reading_spec(config);
    if (config.lora.targets || config.train.trains_base()) return {};
    auto chosen = reading.lora.targets ? targets_choice{*reading.lora.targets, "the publication's"}
                                       : choose_targets(reading, model);
    config.lora.targets = chosen.targets;
    return config::choice{"lora.targets", nlohmann::json(chosen.targets).dump(), std::move(chosen.reason)};
}

/// Of a run whose controller is prepared: what its policy decides by.
std::optional<config::choice> choose_interval(config::run_config& config) {
    if (!config::resolve_choices(config).prepared) return {};
    auto& rl = config.rl;
    const auto wanted = load_policy(rl.controller, rl.signer)->parts().interval;
    if (!rl.interval) {
        rl.interval = wanted;
        return config::choice{"rl.interval", std::to_string(wanted), "rl.controller was prepared for it"};
    }
    if (*rl.interval != wanted)
        refuse(fmt::format("rl.interval is {}, but rl.controller {} decides after every {} steps; give {}",
                           *rl.interval, rl.controller.value_or("the shipped policy"), wanted, wanted));
    return {};
}

/// What noise.bands comes to, where it is open, priced on a coarse mesh. Few bands that take a tenth of the noise, as
/// on plans of three epochs, measured no better than one at its own rate; a third and more paid (docs/choosing.md).
/// They want another rate than one band, so a train.lr that is given is left with one.
std::optional<config::choice> choose_noise_bands(config::run_config& asked, std::int64_t population,
                                                 const config::adapted_model& model) {
    if (asked.noise.bands) return {};
    auto config = asked;
    config::choose_open_keys(config, population, model);
    const auto choices = config::resolve_choices(config);
    const auto chosen = [&]() -> privacy::bands_choice {
        if (config.privacy.semantics == semantics::as_published) return {1, 1, "the publication's"};
        if (const auto who = config.train.optimizer; who != optimizer_kind::adamw)
            return {1, 1, fmt::format("train.optimizer {} was never measured with more", name_of(who))};
        if (choices.policy != policy_kind::fixed)
            return {1, 1, fmt::format("under noise.policy {} more are not proven", name_of(choices.policy))};
        const auto batch = config::read_batch_size(config);
        if (batch > population) return {1, 1, "a step draws everybody"};
        const auto with = parse_named<accountant_kind>(config.privacy.accountant) == accountant_kind::pld
                              ? privacy::make_pld(1e-2)
                              : privacy::make_accountant(config.privacy.accountant);
        return privacy::choose_bands(*with,
                                     {.sample_rate = static_cast<double>(batch) / static_cast<double>(population),
                                      .steps = config::planned_steps(config, population),
                                      .population = population,
                                      .runs = config.privacy.runs},
                                     config.privacy.epsilon, config.privacy.delta);
    }();
    constexpr double least_gain = 0.25;
    const bool small = 1 - chosen.left < least_gain, given = asked.train.lr.has_value();
    asked.noise.bands = small || given ? 1 : chosen.bands;
    auto reason = chosen.reason;
    if (chosen.bands > 1 && small)
        reason = fmt::format("of {}: {}; where they took so little, one was as good", chosen.bands, reason);
    else if (chosen.bands > 1 && given)
        reason = fmt::format("of {}: {}; they want another train.lr than the one given", chosen.bands, reason);
    return config::choice{"noise.bands", std::to_string(*asked.noise.bands), std::move(reason)};
}

/// What privacy.epsilon comes to where an attacker's success is bounded, too: the most that keeps it, and no more than
/// it is. From public numbers alone.
std::optional<config::choice> choose_epsilon(config::run_config& asked, std::int64_t population) {
    const auto& risk = asked.privacy.risk;
    if (!risk.given()) return {};
    auto config = asked;
    const auto attacked = [&](double epsilon) {
        config.privacy.epsilon = epsilon;
        const auto spec = config::to_spec(config, population);
        const auto policy = make_spending_policy(spec);
        const auto padded = choose_padding(spec, 1);  // what it costs does not depend on lengths
        const double guaranteed = policy->epsilon_guaranteed();
        auto looks = choose_looks(spec, guaranteed);
        looks.count *= spec.privacy.runs;
        return privacy::find_trade_off(policy->committed(), guaranteed, spec.privacy.delta, padded ? padded->delta : 0,
                                       looks)
            .true_positive_rate(*risk.fpr);
    };
    const auto keeps = [&](double epsilon, double margin) { return attacked(epsilon) <= *risk.tpr * (1 - margin); };
    double high = asked.privacy.epsilon, low = 0;
    if (!keeps(high, 0)) {
        // Found with room for the last bits of another processor, on which the run may be resumed.
        constexpr double margin = 1e-5, tolerance = 2.5e-4;
        constexpr double least = 1e-4;
        low = std::min(high, std::log(*risk.tpr / *risk.fpr) / 8);
        while (low > least && !keeps(low, margin)) low /= 4;
        if (low <= least)
            refuse(
                fmt::format("privacy.risk.tpr {} beside fpr {} is kept by no ε above 1e-4 at privacy.delta {}; "
                            "allow more",
                            *risk.tpr, *risk.fpr, asked.privacy.delta));
        for (int i = 0; i < 24 && high > low * (1 + tolerance); ++i) {
            const double middle = std::sqrt(low * high);
            (keeps(middle, margin) ? low : high) = middle;
        }
        asked.privacy.epsilon = low;
    }
    return config::choice{"privacy.epsilon", fmt::format("{:.6g}", asked.privacy.epsilon),
                          fmt::format("then who is wrong about {:g} of 1,000 units that were not in the data is right "
                                      "about {:.4g} of 1,000 that were, at most",
                                      1000 * *risk.fpr, 1000 * attacked(asked.privacy.epsilon))};
}

/// What privacy.book comes to. Which book `found` finds follows from the data: it is no part of a plan.
std::optional<config::choice> choose_book(config::run_config& config) {
    auto& book = config.privacy.book;
    if (!book) book = no_book;
    if (*book == no_book || is_book_path(*book)) return {};
    return config::choice{"privacy.book", nlohmann::json(*book).dump(),
                          *book == found_book ? "of the books in " + privacy::books_home().string() +
                                                    " the one with data like these, or a new one"
                                              : (privacy::books_home() / *book).string()};
}

}  // namespace

config::adapted_model describe_adapted(const config::run_config& config, const models::model_config& model) {
    config::adapted_model out{.width = model.width};
    if (!config.lora.targets || config.train.trains_base()) return out;
    const auto spec = config::to_reading_spec(config);
    const auto adapted = [&](const std::vector<std::string>& targets) {
        std::set<std::string> names;
        for (const auto& pair : make_adapters(spec, model, targets).pairs) names.insert(pair.module);
        return names;
    };
    out.queries_and_values = adapted(*config.lora.targets) == adapted({"q", "v"});
    return out;
}

std::optional<config::choice> propose_sharing(config::run_config& config, const models::model_config& model) {
    auto spec = config::to_reading_spec(config);
    const bool open = !spec.model.shard && !spec.trains_base() && config.privacy.semantics == semantics::sound;
    if (!open || holds_whole_base(spec, model, 1, false)) return {};
    spec.model.shard = true;
    if (!find_least_ranks(spec, model, choose_layout(spec, model), least_work(spec, model))) return {};
    config.model.shard = true;
    return config::choice{"model.shard", "true",
                          find_room(spec).owner +
                              " could not hold the base and leave a quarter of its memory free; "
                              "several ranks can (docs/cluster.md)"};
}

std::optional<config::choice> choose_sharing(config::run_config& asked, const models::model_config& model,
                                             ranks::team& team, const std::function<bool(std::int64_t)>& holds) {
    auto& shard = asked.model.shard;
    // A run that goes on has its choice in its own configuration, which rank 0 reads; what others read may leave it
    // open. Ranks of which some share their base and others don't would not understand each other while they read it.
    const std::string open = "open", own = !shard ? open : *shard ? "true" : "false", first = team.broadcast(own);
    if (!shard && first != open) shard = first == "true";
    team.agree({{"setting of model.shard", !shard   ? open
                                           : *shard ? "true"
                                                    : "false"},
                {"setting of train.parameters", asked.train.trains_base() ? "given" : "open"},
                {"number of layers of its model", std::to_string(model.layers)}});
    if (shard || asked.train.trains_base() || !shares_well(model, static_cast<std::int64_t>(team.ranks()))) return {};
    const auto machine = machine_name();
    const auto machines = team.exchange(machine);
    const auto here = std::count(machines.begin(), machines.end(), machine);
    const auto held = team.exchange(holds(here) ? "whole" : "shared");
    const auto short_of = std::find(held.begin(), held.end(), "shared");
    if (short_of == held.end()) return {};
    shard = true;
    return config::choice{"model.shard", "true",
                          fmt::format("rank {} could not hold the whole base and leave a quarter of its memory free",
                                      short_of - held.begin())};
}

namespace {

/// Why nobody vouches for a policy here, whatever the plan.
std::optional<std::string> doubt_beforehand(const rl::prepared_policy& policy, const config::run_config& config) {
    if (config.train.trains_base())
        return "rl.controller: it was prepared on adapters, and train.parameters trains the base";
    return rl::doubt_policy(policy);
}

/// Why nobody vouches for a policy on such a run, whose keys are all settled; nothing where it was prepared for it.
std::optional<std::string> find_doubt(const rl::prepared_policy& policy, const config::run_config& settled,
                                      std::int64_t population, const models::model_config& model) {
    if (auto doubt = doubt_beforehand(policy, settled)) return doubt;
    const auto spec = config::to_spec(settled, population);
    const auto layout = choose_layout(spec, model);
    run_plan plan;
    plan.steps = spec.train.steps;
    plan.noise_multiplier = make_spending_policy(spec)->initial_noise_multiplier();
    plan.bands = spec.privacy.bands;
    plan.groups = group_names(spec.clip.groups, layout);
    plan.trainable_parameters = layout.dimension;
    auto doubts = rl::list_warnings(policy, describe_plan(spec, plan));
    if (doubts.empty()) return {};
    return doubts.front();
}

/// Gives every key that is open its value, but for rl.state, which all others depend on.
std::vector<config::choice> settle(config::run_config& asked, std::int64_t population,
                                   const models::model_config& model) {
    std::vector<config::choice> made;
    const auto note = [&](std::optional<config::choice> one) {
        if (one) made.push_back(std::move(*one));
    };
    note(choose_interval(asked));
    note(settle_targets(asked, model));
    const auto adapted = describe_adapted(asked, model);
    note(choose_noise_bands(asked, population, adapted));
    for (auto& one : config::choose_open_keys(asked, population, adapted)) made.push_back(std::move(one));
    note(config::choose_clip(asked, model.vocab));
    if (auto& micro_batch = asked.train.micro_batch; !micro_batch) {
        const auto reading = config::to_reading_spec(asked);
        auto [count, reason] = choose_micro_batch(reading, model, choose_layout(reading, model),
                                                  {.population = population,
                                                   .expected_batch_size = config::read_batch_size(asked),
                                                   .max_tokens = token_limit(reading, model),
                                                   .course_bytes = count_course_bytes(asked)});
        micro_batch = count;
        made.push_back({"train.micro_batch", std::to_string(count), std::move(reason)});
    }
    note(choose_epsilon(asked, population));
    note(choose_book(asked));
    config::validate(asked);  // of what is chosen beside what is given
    return made;
}

/// Why a policy should not steer such a run; nothing where its preparation vouches for it, and where nobody asks.
std::optional<std::string> doubt_policy(config::run_config config, std::int64_t population,
                                        const models::model_config& model) {
    auto& rl = config.rl;
    if (!config::resolve_choices(config).prepared || rl.online) return {};
    const auto policy = load_policy(rl.controller, rl.signer);
    if (auto doubt = doubt_beforehand(*policy, config)) return doubt;  // before anything is priced
    rl.state = controller_kind::prepared;
    settle(config, population, model);
    return find_doubt(*policy, config, population, model);
}

/// Of a run for which a policy was asked in vain: nobody steers it.
config::choice put_schedule_in_place(config::run_config& config, const std::string& doubt) {
    auto& rl = config.rl;
    rl.state = controller_kind::schedule;
    rl.controller.reset();
    rl.signer.reset();
    if (config.noise.allocation == allocation::shares) config.noise.allocation.reset();
    return {"rl.state", R"("schedule")",
            "\"prepared\" is asked for, and nobody vouches for its policy here: " + doubt +
                "; rl.policy \"learned\" takes it all the same"};
}

}  // namespace

config::run_spec resolve(config::run_config asked, std::int64_t units, const models::model_config& model) {
    const auto population = asked.privacy.population.value_or(units);
    const bool all_the_same = asked.rl.state && asked.rl.policy;  // then nothing is priced to doubt it
    const auto doubt = all_the_same ? std::nullopt : doubt_policy(asked, population, model);
    auto state = config::choose_state(asked, doubt);
    const bool in_vain = doubt && asked.rl.state == controller_kind::prepared && !asked.rl.policy;
    if (in_vain) state = put_schedule_in_place(asked, *doubt);
    std::vector<config::choice> made;
    try {
        made = settle(asked, population, model);
    } catch (const error& why) {
        if (!in_vain) throw;
        refuse(fmt::format("rl.state: {}. Nor can a schedule have its place: {}", state->reason, why.what()));
    }
    if (state) made.insert(made.begin(), std::move(*state));
    auto out = config::to_spec(asked, population);
    out.choices = std::move(made);
    return out;
}

}  // namespace rldp::actors

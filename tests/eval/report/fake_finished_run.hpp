#pragma once
// The public side of a run that has ended, without a model: what certificates are made from.
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "config/config.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/policy.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::testing {

inline config::run_config small_config(const std::vector<std::string>& set = {}) {
    return config::parse(R"({"privacy": {"epsilon": 2, "delta": 1e-5, "population": 6400},
                             "train": {"steps": 40, "expected_batch_size": 64},
                             "data": {"path": "synthetic:6400"}, "model": {"path": "model"}, "rl": {"interval": 10}})",
                         "small", "/", set);
}

inline privacy::ledger_header make_header(const config::run_config& config, const privacy::spending_policy& policy) {
    privacy::ledger_header out;
    out.delta = config.privacy.delta;
    out.population = config.privacy.population.value_or(6400);
    out.sample_rate = static_cast<double>(config::read_batch_size(config)) / static_cast<double>(out.population);
    out.steps = config::planned_steps(config, out.population);
    out.policy = name_of(config::resolve_choices(config).policy);
    out.accountant = config.privacy.accountant;
    out.semantics = config.privacy.semantics;
    out.unit = config.privacy.unit;
    out.split = name_of(config.data.split);
    out.deck = policy.deck();
    out.epsilon_budget = config.privacy.epsilon;
    out.epsilon_guaranteed = policy.epsilon_guaranteed();
    out.data_hmac = std::string(64, 'a');
    out.insecure_reproducible = config.noise.insecure_reproducible;
    out.held_out = config.eval.publish;
    out.looks.count = std::ssize(config::look_steps(config.eval.looks_made(), out.steps));
    if (out.looks.count > 0 && std::isfinite(out.epsilon_guaranteed))
        out.looks.noise_multiplier =
            privacy::noise_of_looks(out.looks.count * config.privacy.runs, out.epsilon_guaranteed, out.delta);
    out.runs = config.privacy.runs;
    return out;
}

inline std::unique_ptr<privacy::spending_policy> make_spending_policy(const config::run_config& config) {
    const auto population = config.privacy.population.value_or(6400);
    return privacy::make_policy(
        config::resolve_choices(config).policy,
        {.epsilon_budget = config.privacy.epsilon,
         .delta = config.privacy.delta,
         .sample_rate = static_cast<double>(config::read_batch_size(config)) / static_cast<double>(population),
         .steps = config::planned_steps(config, population),
         .interval = *config.rl.interval,
         .accountant = config.privacy.accountant,
         .deck_levels = config.noise.deck.levels,
         .deck_ratio = config.noise.deck.ratio,
         .runs = config.privacy.runs});
}

/// The ledger of that configuration, every step charged but the last `missing`. Anyone can write one: no secret goes
/// in.
inline void write_ledger(const std::filesystem::path& path, const config::run_config& config,
                         const std::function<void(privacy::ledger_header&)>& edit = {}, std::int64_t missing = 0) {
    const auto policy = make_spending_policy(config);
    auto header = make_header(config, *policy);
    if (edit) edit(header);
    std::filesystem::remove(path);
    auto ledger = privacy::ledger::create(path, header);
    for (std::int64_t step = 1; step <= header.steps - missing; ++step) {
        const auto granted = policy->next(step, policy->initial_noise_multiplier());
        ledger.append(step, granted->noise_multiplier, header.sample_rate, granted->card);
    }
}

/// The summary that finish_run would write for that ledger.
inline eval::run_summary make_summary(const privacy::ledger_content& ledger) {
    const auto& header = ledger.header;
    eval::run_summary out;
    out.version = "1.2.3";
    out.how = eval::ending::done;
    out.steps_planned = out.steps_done = header.steps;
    out.units = header.population;
    out.perplexity_before = 12;
    out.epsilon_budget = header.epsilon_budget;
    out.delta = header.delta;
    out.epsilon_guaranteed = header.epsilon_guaranteed;
    for (const char* name : {"pld", "rdp", "gdp_clt"})
        out.epsilon_spent[name] = privacy::make_accountant(name)->epsilon(ledger.phases(), header.mechanism_delta());
    out.sample_rate = header.sample_rate;
    out.policy = header.policy;
    for (const auto& level : privacy::priced_phases(header.deck, header.sample_rate, header.steps))
        out.deck.emplace_back(level.noise_multiplier, level.steps);
    out.semantics = header.semantics;
    out.unit = header.unit;
    out.split = header.split;
    out.insecure_reproducible = header.insecure_reproducible;
    out.held_out = header.held_out;
    out.looks = header.looks.count;
    out.looks_noise_multiplier = header.looks.noise_multiplier;
    out.runs = header.runs;
    return out;
}

/// Lines of a run log, of a look before the first step and of every step charged.
inline std::vector<eval::metrics_line> make_log(const privacy::ledger_content& ledger) {
    std::vector<eval::metrics_line> out(1);
    out[0].eval_perplexity = 12;
    out[0].ledger = ledger.header_hash;
    for (const auto& charged : ledger.charges) {
        auto& line = out.emplace_back();
        line.step = charged->step;
        line.loss_released = 1.0 / static_cast<double>(charged->seq);
        line.noise_multiplier = charged->noise_multiplier;
        line.radii = {0.1, 0.2};
        line.ledger = charged->hash;
    }
    return out;
}

/// Everything under public/ but the certificate.
inline eval::run_directory write_run(const std::filesystem::path& root, const config::run_config& config) {
    const eval::run_directory run{root};
    std::filesystem::create_directories(run.adapter());
    write_file(run.config(), config::to_json(config));
    write_ledger(run.ledger(), config);
    write_file(run.summary(), eval::to_json(make_summary(privacy::read_ledger(run.ledger()))) + "\n");
    eval::write_metrics(run.metrics(), make_log(privacy::read_ledger(run.ledger())));
    write_file(run.report(), "<p>a report</p>\n");
    write_file(run.adapter() / "adapter_config.json", "{}\n");
    write_file(run.adapter() / "adapter_model.safetensors", std::string(64, '\x7f'));
    return run;
}

}  // namespace rldp::testing

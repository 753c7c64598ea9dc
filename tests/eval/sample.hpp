#pragma once
// A run's end as the tests of the report know it.
#include "run/artifacts/summary.hpp"

inline rldp::eval::run_summary sample_summary() {
    rldp::eval::run_summary s;
    s.version = "1.2.3";
    s.date = "2026-01-31";
    s.name = "pilot";
    s.tags = {"ward-3"};
    s.notes = "a first try";
    s.model = "tiny-gpt2";
    s.data = "patients.csv";
    s.how = rldp::eval::ending::done;
    s.steps_planned = s.steps_done = 120;
    s.steps_lost = 1;
    s.units = 73271;
    s.trainable_parameters = 4096;
    s.groups = {"layer.0.q", "layer.0.v"};
    s.template_perplexity = 6.5;
    s.perplexity_before = 12.5;
    s.perplexity_after = 5;
    s.perplexity_best = 4.75;
    s.base_parameters = 300'000;
    s.samples = {"A record of wards."};
    s.epsilon_budget = 8;
    s.delta = 1e-5;
    s.epsilon_guaranteed = 7.875;
    s.epsilon_spent = {{"pld", 7.5}, {"gdp_clt", 6.25}};
    s.upper_bound = {{"pld", true}, {"gdp_clt", false}};
    s.sample_rate = 0.125;
    s.method = "rldp";
    s.policy = "deck";
    s.deck = {{0.5, 59}, {1, 61}};
    s.allocation = "proportional";
    s.semantics = rldp::semantics::sound;
    s.unit = "record";
    s.split = "hash";
    return s;
}

inline std::vector<rldp::eval::metrics_line> sample_metrics() {
    std::vector<rldp::eval::metrics_line> lines;
    for (int step = 1; step <= 120; ++step) {
        rldp::eval::metrics_line line;
        line.step = step;
        line.loss_released = 3 - 0.01 * step;
        line.noise_multiplier = step < 60 ? 0.5 : 1;
        line.radii = {0.1, 0.2 + (step < 60 ? 0 : 0.1)};
        line.progress = {0.06 * step, step};
        if (step % 24 == 0) line.eval_perplexity = 12.5 - 0.05 * step;
        lines.push_back(line);
    }
    return lines;
}

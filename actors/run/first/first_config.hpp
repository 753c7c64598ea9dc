#pragma once
// A first configuration for a file of records: what `rldp init` writes.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "actors/run/plan.hpp"
#include "data/survey/survey.hpp"

namespace rldp::actors {

struct first_request {
    std::filesystem::path data, model;
    std::filesystem::path config, table_template;  ///< where to write; the second only where the data need one
    double epsilon = 4;
    data::survey_hints hints;
    bool overwrite = false;  ///< configuration and template that are there already
};

/// A budget and what it buys.
struct priced_budget {
    double epsilon, noise_multiplier;
    double noise_per_unit;  ///< z/B: what one unit's gradient must be heard over, in clip radii
};

struct first_config {
    data::survey found;
    bool has_template = false;
    bool target_fits = false;  ///< whether eval.target was written: no record looked at is near the model's window
    std::int64_t units = 0;    ///< persons, or records; private
    run_plan plan;             ///< of the configuration as written
    std::int64_t expected_batch_size = 0;
    std::vector<priced_budget> budgets;
    std::int64_t looked_at = 0, cut = 0, median_tokens = 0, most_tokens = 0;  ///< private
};

/// Looks at the data, writes template and configuration, and plans. Where that fails, nothing is left behind. Errors:
/// bad_input where a file is there already and may not be overwritten, for data or model that a run would refuse, and
/// for too few units.
first_config write_first_config(const first_request& asked);

/// The number of training units to declare: 72 of 100 are not held out; two digits, so that it tells no exact count.
std::int64_t declared_population(std::int64_t units);
/// A tenth of 1/N, down to a power of ten.
double delta_for(std::int64_t population);
/// Of 32 tokens, so that 95 of 100 records are whole, within the model's window.
std::int64_t tokens_for(std::int64_t p95_tokens, std::int64_t window);

}  // namespace rldp::actors

#pragma once
// A first configuration for a file of records: what `rldp init` writes. A run publishes its configuration and template,
// so nothing in them is computed from values: it follows from the model, the columns' names and what the owner says.
// What values suggest is advice, for the owner's eyes (docs/privacy.md §7).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/data_names.hpp"
#include "data/survey/survey.hpp"
#include "run/first/proposals.hpp"
#include "run/plan.hpp"

namespace rldp::actors {

struct first_request {
    std::filesystem::path data, model;
    std::filesystem::path config, table_template;  ///< where to write; the second only where the data need one
    double epsilon = 4;
    data::profile_hints hints;
    std::optional<std::int64_t> population = {};  ///< N, declared
    std::optional<std::int64_t> max_tokens = {};
    bool overwrite = false;  ///< configuration and template that are there already

    /// What the records are called after: their file, or where they come through a pipe the configuration.
    std::string name() const { return is_piped(data) ? config.string() : data.string(); }
};

/// A budget and what it buys.
struct priced_budget {
    double epsilon, noise_multiplier;
    std::int64_t bands;
    /// What is left of it over the steps: the multiplier of independent noise that adds up to as much; z in one band.
    double noise_left;
    double noise_per_unit;  ///< of that, over B: what one unit's gradient must be heard over, in clip radii
};

/// What the file suggests; private, all of it.
struct first_advice {
    data::profile_advice columns;
    std::int64_t units = 0;  ///< persons, or records
    std::int64_t looked_at = 0, cut = 0, median_tokens = 0, most_tokens = 0;
    std::int64_t population = 0, max_tokens = 0;  ///< to declare, and to keep
    std::int64_t cut_as_advised = 0;              ///< of those looked at
    std::int64_t tokens_for_target = 0;           ///< to keep where a target is guessed
};

/// What only the owner can say, and has not.
enum class open_question : std::uint8_t { whose, how_many };

struct first_config {
    data::survey found;
    bool has_template = false;
    bool has_made_up_rows = false;  ///< they teach how a row is told, before the first private step
    first_advice advice;
    std::vector<open_question> open;  ///< where there are any, nothing is written and there is no plan
    bool in_the_way = false;          ///< configuration or template would be, and are there already
    run_plan plan;                    ///< of the configuration as written
    std::optional<plan_time> time;
    std::int64_t expected_batch_size = 0;
    std::vector<priced_budget> budgets;
};

/// Looks at the data and, where nothing is open, writes template and configuration, and plans. Where that fails,
/// nothing is left behind. Errors: bad_input where a file that is to be written is there already and may not be
/// overwritten, for data or model that a run would refuse, and for too few units.
first_config write_first_config(const first_request& asked);

/// N to declare for as many training units: in two digits it tells no exact count.
std::int64_t rounded_population(std::int64_t training);
/// The same of a file's units, of which 72 of 100 are not held out.
std::int64_t declared_population(std::int64_t units);
/// A tenth of 1/N, down to a power of ten.
double delta_for(std::int64_t population);
/// The next multiple of 32 tokens, within the model's window.
std::int64_t tokens_for(std::int64_t tokens, std::int64_t window);

}  // namespace rldp::actors

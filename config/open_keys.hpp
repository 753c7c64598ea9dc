#pragma once
// Keys of the plan that a configuration leaves open, for what is best depends on the data, the model and the method.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/spec.hpp"

namespace rldp::config {

/// Fewer steps than these are too few for an adaptive optimizer, whatever the noise (research/experiments.md).
constexpr std::int64_t least_steps = 75;

/// The largest train.expected_batch_size: a step's sum holds twice as many units (privacy/mechanism/clipping.hpp),
/// which a draw exceeds with a chance below e^(−3,000,000).
constexpr std::int64_t most_batch = std::int64_t{1} << 23;

/// train.eval_records is never chosen larger: an exact perplexity of more units hardly says more, and what looks at
/// more cost in memory they hardly gain.
constexpr std::int64_t most_chosen_eval_records = 4096, most_chosen_looked_at = 16384;
inline std::int64_t most_eval_records(const run_config& config) {
    return config.eval.looks_made() > 0 ? most_chosen_looked_at : most_chosen_eval_records;
}

/// After which of `steps` steps so many looks come: at the end; of two or more before the first, too, the rest between
/// at equal distances. Fewer where there are fewer steps.
std::vector<std::int64_t> look_steps(std::int64_t looks, std::int64_t steps);

/// Settles who steers a method with a controller under sound semantics, where rl.state is open: find_controller(), but
/// where there is a `doubt` that the policy that ships was prepared for such runs, "schedule", or "published" where a
/// key is given that a controller alone has. Comes before all other choices, which depend on it. Nothing where there is
/// nothing to settle.
std::optional<choice> choose_state(run_config& config, const std::optional<std::string>& doubt);

/// What the learning rate depends on of a model and its adapters.
struct adapted_model {
    std::int64_t width = 0;
    bool queries_and_values = false;  ///< they are on those alone, by whatever name lora.targets calls them
};

/// Gives every open key its value: train.expected_batch_size, warmup, lr, schedule, value_weight, eval_every and
/// eval_records, rl.interval and rl.warmup. lora.targets and noise.bands come before. It looks at public numbers only:
/// the population N, the model, other keys. What the configuration says stays. Under as_published the
/// choices are the publication's.
std::vector<choice> choose_open_keys(run_config& config, std::int64_t population, const adapted_model& model);

/// eval.clip, where looks are made and it is open: of a model with that vocabulary, guessing evenly costs log V, and
/// from the middle to either end is within reach.
std::optional<choice> choose_clip(run_config& config, std::int64_t vocabulary);

/// What it chooses for train.lr, by noise.bands as it is given; open it counts as 1.
double rate_for(const run_config& config, std::int64_t steps, const adapted_model& model);

/// The value of a key that has been chosen. Errors: bad_input naming it where it is still open, as in a
/// public/config.json that somebody has changed.
template <class Value>
const Value& chosen(const std::optional<Value>& value, const char* key) {
    if (!value) refuse(std::string(key) + " is open; give it a value");
    return *value;
}

inline std::int64_t read_batch_size(const run_config& config) {
    return chosen(config.train.expected_batch_size, "train.expected_batch_size");
}
inline std::int64_t read_micro_batch(const run_config& config) {
    return chosen(config.train.micro_batch, "train.micro_batch");
}

/// On a device rounding is probed with so many made-up units every so many steps: a twentieth of the time. 0: never,
/// for on the CPU units are computed apart, and without a guarantee nothing is charged (docs/privacy.md §6). Public.
inline constexpr std::int64_t probed_units = 4;
inline std::int64_t steps_between_probes(const std::string& device, semantics how, std::int64_t expected_batch_size) {
    if (device == "cpu" || how != semantics::sound) return 0;
    constexpr std::int64_t drawn = 2 * probed_units + 1, share = 20;  // a draw of so many and its neighbour
    return (share * drawn + expected_batch_size - 1) / expected_batch_size;
}

}  // namespace rldp::config

#pragma once
// A run's end: how it ended, its numbers in public/summary.json, and public/report.html.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/guarantee.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::eval {

// Endings. How a run ended, as summary.json and the monitor say it.

enum class ending { done, budget_exhausted, interrupted };

inline std::string name_of(ending how) {
    switch (how) {
        case ending::done:
            return "done";
        case ending::budget_exhausted:
            return "budget exhausted";
        case ending::interrupted:
            return "interrupted";
    }
    bug("an ending without a name");
}

/// Errors: bad_input for any other word.
inline ending ending_from(std::string_view word) {
    for (const auto how : {ending::done, ending::budget_exhausted, ending::interrupted})
        if (word == name_of(how)) return how;
    refuse("status \"" + std::string(word) + "\" is unknown: done, budget exhausted and interrupted are known");
}

// Summary and report. public/report.html is one self-contained page with inline SVG figures, readable in print, no
// network.

/// Rows that a model made up.
struct made_up_table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  ///< a cell for each column
};

/// The end of a run in numbers; also what `rldp run --json` prints.
struct run_summary {
    std::string version;
    std::string date;  ///< on which this was written, UTC; empty in summaries of earlier versions, as the next are
    std::string name;  ///< run.name, or its directory's
    std::vector<std::string> tags;
    std::string notes;
    std::string model, data;           ///< names without their directories
    ending how = ending::interrupted;  ///< "status" in the file
    std::int64_t steps_planned = 0, steps_done = 0;
    std::int64_t steps_lost = 0;  ///< to crashes; for the owner's eyes, in no file: a record may have caused one
    std::int64_t units = 0;       ///< N
    std::int64_t trainable_parameters = 0;
    std::vector<std::string> groups;  ///< names of the clip groups, in order
    /// Of a model that knows the template by heart, and of the values only how often each occurs: what a perplexity
    /// after training has to be below to show that records were learned from. Absent for text, and where records are
    /// cut.
    std::optional<double> template_perplexity;
    publication held_out = publication::raw;  ///< what of held-out units all that follows is; before it was said, raw
    std::int64_t looks = 0;                   ///< at them, where noised: at most
    double looks_noise_multiplier = 0;
    /// At the first step, as all that is "before": after what public records taught. NaN where nothing is published.
    double perplexity_before = 0;
    std::optional<double> perplexity_after, perplexity_best;
    /// Of held-out records: nats on the values, per record; what the columns' marginals alone would lose; bits per
    /// byte.
    std::optional<double> value_nats_before, value_nats_after, marginal_nats;
    std::optional<double> bits_per_byte_before, bits_per_byte_after;
    /// Of looks: nats per token that carries a value, and accuracy of eval.target (exact ones are in `target`).
    std::optional<double> value_token_nats_before, value_token_nats_after, accuracy_before, accuracy_after;
    std::optional<interval> perplexity_before_in, perplexity_after_in, value_token_nats_before_in,
        value_token_nats_after_in, accuracy_before_in, accuracy_after_in;
    struct target_scores {
        std::string column;  ///< eval.target
        double auc_before = 0, auc_after = 0, accuracy_before = 0, accuracy_after = 0;
        std::optional<interval> auc_before_in = {}, auc_after_in = {};  ///< at 95 %
        std::int64_t records = 0;                                       ///< that were guessed; 0: not told
    };
    std::optional<target_scores> target;
    double epsilon_budget = 0, delta = 0, epsilon_guaranteed = 0;
    std::map<std::string, double> epsilon_spent;  ///< of what was really spent, per accountant: pld, rdp, gdp_clt
    std::map<std::string, bool> upper_bound;      ///< per accountant
    double sample_rate = 0;
    std::int64_t bands = 1;  ///< of the noise
    std::int64_t runs = 1;   ///< of a tuning, that the guarantee is for together
    std::vector<std::pair<double, std::int64_t>>
        deck;            ///< noise multiplier and planned steps of each level; empty without
    std::string method;  ///< empty in summaries of version 0.1.0's first runs
    std::string policy, allocation, unit, split;
    rldp::semantics semantics = rldp::semantics::sound;
    bool insecure_reproducible = false;
    rldp::guarantee guarantee() const { return {semantics, insecure_reproducible, epsilon_guaranteed}; }
    /// as_published only: what the publication's printed formula says, and the tight ε of the gradient release that
    /// really happened (√n included)
    std::optional<double> printed_formula_epsilon, tight_epsilon_as_released;
    std::string kept;                     ///< "last" or "average" iterate, where public records chose; else empty
    std::vector<std::string> controller;  ///< sentences on a prepared one; empty without
    std::int64_t base_parameters = 0;     ///< 0: not known
    made_up_table table;                  ///< rows of the tuned model, where its template declares columns
    std::vector<std::string> samples;     ///< what it writes else
    std::vector<std::string> warnings;
};

/// A figure with where it lies with 95 %, if it is a look's: "3.21 (3.18 to 3.24)". "–" for none.
std::string with_interval(const std::optional<double>& value, const std::optional<interval>& in);
/// One sentence on what of held-out units was published.
std::string held_out_sentence(const run_summary& summary);

/// Whether values cost less than by their marginals alone, with both numbers; empty where neither is known.
std::string what_was_learned(const run_summary& summary);

nlohmann::ordered_json to_json(const run_summary::target_scores& scores);
std::string to_json(const run_summary& summary);
run_summary parse_summary(const std::string& json);

/// The whole page: table of the numbers, what is and is not guaranteed, figures of eval perplexity, released loss,
/// radii per group, noise multiplier and progress ε over steps, and how to reproduce.
std::string report_html(const run_summary& summary, const std::vector<metrics_line>& metrics,
                        const std::string& config_json);

}  // namespace rldp::eval

#pragma once
// A run that is ready to go, new or resumed: its public facts and its moving parts, and apart from them the secrets. No
// CAF: the supervisor hands the parts to the actors, the plain loop of the benchmarks keeps them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/directories.hpp"
#include "config/spec.hpp"
#include "eval/audit/attacks.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/budget.hpp"
#include "privacy/trusted.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/checkpoint.hpp"
#include "run/inputs.hpp"
#include "run/looks.hpp"
#include "run/outcome.hpp"
#include "run/plan.hpp"
#include "run/train/steering.hpp"
#include "run/train/training.hpp"

namespace rldp::ranks {
class team;
}

namespace rldp::actors {

/// What only trusted actors may hold.
struct secrets {
    data::token_store train;
    privacy::run_key key;
    eval::gradient_canaries gradient_canaries = {};
    std::vector<bool> look_canary_in = {};  ///< which of audit.look_canaries are among those looked at
    /// Each training unit's group, where noise has several bands: a step draws from one of them (docs/privacy.md §14).
    std::vector<std::uint16_t> groups = {};
    std::int64_t bands = 1;
};

/// What stays as it is from a run's opening to its end.
struct session {
    eval::run_directory where;
    config::run_spec spec;
    run_plan plan;
    run_model model;
    privacy::trusted<std::shared_ptr<const eval::held_out>> held_out;  ///< those units of Eval that are looked at
    look_rule looks;                                                   ///< where eval.publish is private
    std::vector<privacy::look_release> looked;                         ///< what a resume found of them
    std::string belongs_to;                                            ///< see checkpoint
    privacy::file_seal seal;                                           ///< of the files that a resume reads back
    std::shared_ptr<const fixed_time> times;                           ///< of the public side: that of run.date
    evaluations seen;                                                  ///< those that a resume found in the run log
    std::vector<snapshot> passed;  ///< where a resume came past an evaluation that died unfinished
};

/// What changes with every step. Each part belongs to one actor once a run goes.
struct moving_parts {
    std::shared_ptr<step_machine> steps;
    std::shared_ptr<privacy::budget> budget;
    std::shared_ptr<rl::controller> controller;  ///< none for methods without one
};

struct opened_run {
    std::shared_ptr<const session> facts;
    moving_parts parts;
    privacy::trusted<std::shared_ptr<const secrets>> closed;
    std::shared_ptr<ranks::team> team = {};  ///< whose rank 0 this is; null in one process
};

/// How a run is opened; what it computes does not depend on it.
struct opening {
    /// Directories that runs share, where they are given: of what public records teach (public_lessons.hpp), and of
    /// records as tokens (cached_corpus.hpp).
    std::optional<std::filesystem::path> lessons = {}, corpora = {};
    /// Directory of the tuning that this is a run of: its account, and not the run, is entered in the budget book.
    std::optional<std::filesystem::path> account = {};
    bool verify_model = false;       ///< a resume reads the weights again, also where their files seem untouched
    bool accept_lost_lines = false;  ///< a resume leaves rows of the run log empty that can't be made again
    on_loading tell = {};
};

/// Reads everything, plans, and only then makes the run directory, whole or not at all. With a team, as its rank 0.
/// Errors: bad_input, among them a directory that exists, and ranks that don't belong together.
opened_run create_run(const config::run_config& config, const std::filesystem::path& directory, const opening& how = {},
                      const std::shared_ptr<ranks::team>& team = {});

/// Goes on from the last checkpoint and the logged releases (docs/privacy.md §5). A charged step without a logged
/// release is lost and stays charged. The run log has every line so far then. Errors: bad_input where ledger,
/// checkpoint, configuration and data don't belong together, naming both sides, and for a run that has finished.
opened_run resume_run(const std::filesystem::path& directory, const opening& how = {},
                      const std::shared_ptr<ranks::team>& team = {});

privacy::sanitizer_config make_sanitizer_config(const config::run_spec& spec, const models::lora_layout& layout);

/// Whether the budget book of the data has room for a run that is not in it, or for a tuning's runs together. Errors:
/// bad_input in the words in which it would refuse that.
void check_room(const config::run_spec& spec, const run_plan& plan, const run_data& data,
                const std::filesystem::path& run);

price_times make_price_times(const config::run_spec& spec, const run_plan& plan);

/// What a resume goes on from.
checkpoint make_checkpoint(const moving_parts& parts, const std::string& belongs_to);

/// A decision at a block's end, in line: observe, decide, set, learn. Used by replay and the plain loop.
void decide_in_line(const moving_parts& parts, double epsilon_spent);

}  // namespace rldp::actors

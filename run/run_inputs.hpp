#pragma once
// Everything read and planned, from a configuration, by the rank that has the run's directory and by the others.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/ranks/team.hpp"
#include "run/session.hpp"

namespace rldp::actors {

// Inputs. Everything read and planned, from a configuration: what a run's directory is made of, and what its ranks have
// in common. Training records in clear: no actor sees one of these.

struct run_inputs {
    config::run_spec spec;
    run_model model;
    run_data data;
    eval::held_out held_out;  ///< what is evaluated
    look_rule looks;
    run_plan plan;
};

/// Makes the model what public records taught it.
using public_training = std::function<run_model(const config::run_spec&, run_model)>;

/// `kept`: where the records may lie as tokens already, or null. Errors: bad_input, one line each.
run_inputs load_run_inputs(config::run_config asked, const public_training& teach, cached_corpus* kept,
                           const model_reading& reading);

/// Takes the training units out of `ready`; of the canaries those that are in.
privacy::trusted<std::shared_ptr<const secrets>> take_secrets(run_inputs& ready, const privacy::run_key& key,
                                                              const eval::membership_record& who);

/// What every rank of a run must have the same of, by name: program, configuration but for paths, model, records,
/// and what the same numbers amount to.
/// Errors: bad_input for a run that several ranks can't share.
std::vector<std::pair<std::string, std::string>> common_facts(const run_inputs& ready);

// Joined run. A run as its other ranks have it: the data, the model, and what rank 0 tells (docs/cluster.md). No
// directory of its own.

struct joined_run {
    config::run_spec spec;
    run_plan plan;
    run_model model;
    std::shared_ptr<privacy::ledger_copy> ledger;
    privacy::trusted<std::shared_ptr<const secrets>> closed;
};

/// Reads everything, and meets rank 0, which creates or resumes the run in `directory` of its own machine. Errors:
/// bad_input, among them ranks that don't belong together; failed where rank 0 ends before.
joined_run join_run(const config::run_config& config, const std::filesystem::path& directory, const opening& how,
                    ranks::team& team);

}  // namespace rldp::actors

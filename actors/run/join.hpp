#pragma once
// A run as its other ranks have it: the data, the model, and what rank 0 tells (docs/cluster.md). No directory of its
// own.
#include <memory>

#include "actors/run/ranks/team.hpp"
#include "actors/run/session.hpp"

namespace rldp::actors {

struct joined_run {
    config::run_spec spec;
    run_plan plan;
    run_model model;
    std::shared_ptr<privacy::ledger_copy> book;
    privacy::trusted<std::shared_ptr<const secrets>> closed;
};

/// Reads everything, and meets rank 0, which creates or resumes the run in `directory` of its own machine. Errors:
/// bad_input, among them ranks that don't belong together; failed where rank 0 ends before.
joined_run join_run(const config::run_config& config, const std::filesystem::path& directory, const opening& how,
                    ranks::team& team);

}  // namespace rldp::actors

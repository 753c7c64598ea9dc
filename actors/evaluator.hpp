#pragma once
// The evaluator looks at held-out units. What leaves it is what eval.publish says: a look's noised sum, exact figures,
// or nothing; exact ones always go to the owner's own file (docs/privacy.md §13).
#include <memory>
#include <optional>
#include <stop_token>

#include "actors/actors.hpp"
#include "eval/held_out.hpp"
#include "run/inputs.hpp"
#include "run/looks.hpp"
#include "run/session.hpp"

namespace spdlog {
class logger;
}

namespace rldp::actors {

/// What evaluations need besides the records.
struct evaluation_rule {
    run_model model;
    publication publish = publication::raw;
    look_rule looks = {};
    std::int64_t batch = 1;  ///< sequences at a time, where figures are exact
    evaluations seen = {};   ///< what those of a resumed run found
    std::filesystem::path looks_log, owners_file, trace;
    std::vector<privacy::look_release> looked = {};  ///< those of a resumed run
};
evaluation_rule make_evaluation_rule(const session& run, evaluations seen);

struct evaluator_state {
    static constexpr const char* name = "evaluator";
    evaluation_rule how;
    std::shared_ptr<const eval::held_out> records;
    std::shared_ptr<const secrets> own;
    std::optional<looks_log> log;
    std::optional<owner_figures> owner;

    void open(const trusted<std::shared_ptr<const eval::held_out>>& records,
              const trusted<std::shared_ptr<const secrets>>& closed, evaluation_rule how);
    /// The release of a look that was charged, durable; its exact figures are the owner's.
    privacy::look_release look(const privacy::look_charge& charged, const at::Tensor& adapter);
    /// Exact figures of an adapter, entered as eval.publish allows.
    eval::scores evaluate(const snapshot& at, const std::stop_token& stop);
    /// What the run hands on at its end; with an adapter, eval.target is guessed with it.
    evaluations settle(const snapshot& end, const std::stop_token& stop);
};

/// Once a stop is asked for, an exact evaluation ends without a result; a look, which is paid for, goes on.
evaluator_actor::behavior_type make_evaluator(evaluator_actor::stateful_pointer<evaluator_state> self,
                                              trusted<std::shared_ptr<const eval::held_out>> records,
                                              trusted<std::shared_ptr<const secrets>> closed, evaluation_rule how,
                                              const hub_actor& hub, std::shared_ptr<spdlog::logger> trusted_log,
                                              std::stop_token stop);

}  // namespace rldp::actors

#pragma once
// Every actor's interface on one page, a sentence per message. Trusted actors: loader, gradient, sanitizer, evaluator,
// auditor.
#include <caf/all.hpp>
#include <string>
#include <vector>

#include "messages/local.hpp"
#include "messages/sides.hpp"

namespace rldp::actors {

using namespace rldp::messages;
using privacy::trusted;

// ---- trusted side ----

using loader_actor = caf::typed_actor<
    // Hands out the draw of a ledger seq; the next one is then made ready ahead of need.
    caf::replies_to<draw_atom, std::uint64_t>::with<trusted<draw>>,
    // To itself: make the draw of this seq ready.
    caf::reacts_to<prefetch_atom, std::uint64_t>>;

using sanitizer_actor = caf::typed_actor<
    // A step begins with this public action.
    caf::reacts_to<begin_atom, privacy::step_order>,
    // Clips a micro-batch's units and adds them to the sums.
    caf::reacts_to<clip_atom, trusted<privacy::unit_gradients>>,
    // Adds noise, logs the release durably, answers it.
    caf::replies_to<finish_atom>::with<privacy::release>,
    // A checkpoint holds all releases so far: the log may be emptied.
    caf::reacts_to<forget_atom>>;

using gradient_actor = caf::typed_actor<
    // Computes the step's unit gradients and delegates to the sanitizer, whose answer is the release.
    caf::replies_to<compute_atom, step_task>::with<privacy::release>>;

using evaluator_actor = caf::typed_actor<
    // A look that was charged, with this adapter: logs its release durably, tells it to the hub, answers the step.
    caf::replies_to<look_atom, privacy::look_charge, snapshot>::with<std::int64_t>,
    // A snapshot on held-out records, exactly, where that is told to the hub or to nobody but the owner; answers the
    // step.
    caf::replies_to<evaluate_atom, snapshot>::with<std::int64_t>,
    // What was found and may be published, once all snapshots are evaluated.
    caf::replies_to<settle_atom, snapshot>::with<evaluations>>;

using auditor_actor = caf::typed_actor<
    // Attacks the run as it is now, its last checkpoint or its finished adapter; answers the path of the report on
    // disk.
    caf::replies_to<audit_atom>::with<std::string>>;

// ---- public side ----

using accountant_actor = caf::typed_actor<
    // Charges a step at the multiplier that the policy grants for the one asked for, durably, or answers "exhausted".
    caf::replies_to<grant_atom, std::int64_t, double>::with<charged>,
    // Charges a look with the adapter of a step, durably, or answers "exhausted".
    caf::replies_to<look_atom, std::int64_t>::with<privacy::look_charge>,
    // Progress ε of everything charged so far; no guarantee.
    caf::replies_to<progress_atom>::with<double>,
    // To itself: recompute the progress ε while the step runs.
    caf::reacts_to<refresh_atom>>;

using controller_actor = caf::typed_actor<
    // Dials for the next block, from the current policy, at once; learning follows on its own thread.
    caf::replies_to<decide_atom, rl::block_observation>::with<rl::block_action>,
    // To itself: the SAC updates that the last decision brought.
    caf::reacts_to<learn_atom>,
    // Everything that acts, as bytes, for a checkpoint.
    caf::replies_to<save_atom>::with<std::string>>;

using trainer_actor = caf::typed_actor<
    // Runs the steps to the plan's end, exhaustion or a stop.
    caf::replies_to<train_atom>::with<outcome>,
    // Stop, after the step under way or without it.
    caf::reacts_to<stop_atom>>;

using display_actor = caf::typed_actor<
    // The newest state of the run; to be acknowledged before another one comes.
    caf::reacts_to<run_view>>;

using hub_actor = caf::typed_actor<
    // Sends views of the run from now on, one unacknowledged at most; the latest value wins.
    caf::replies_to<subscribe_atom, display_actor>::with<run_view>,
    // The sender has shown what it got last.
    caf::reacts_to<ack_atom>,
    // A run begins: its name is known from the start, its size only now.
    caf::reacts_to<announce_atom, run_header>,
    // A step's released numbers, to the run log and the next tick.
    caf::reacts_to<metrics_atom, eval::metrics_line>,
    // ε of everything charged up to a step, for the run log too, or for watchers alone.
    caf::reacts_to<progress_atom, std::int64_t, double, bool>,
    // An evaluation of this step begins: what happens after it is logged after it, however long it takes.
    caf::reacts_to<evaluate_atom, std::int64_t>,
    // An evaluation's step and what it found.
    caf::reacts_to<evaluated_atom, std::int64_t, eval::scores>,
    // All that came before is durable once this is answered.
    caf::reacts_to<sync_atom>,
    // The run's state in a word; sent on at once.
    caf::reacts_to<state_atom, std::string>,
    // To itself, once a second.
    caf::reacts_to<tick_atom>>;

using supervisor_actor = caf::typed_actor<
    // Runs the whole pipeline; answers its outcome, or the one error that ended it.
    caf::replies_to<run_atom>::with<outcome>,
    // Ends the run cleanly, resumable.
    caf::reacts_to<stop_atom>>;

using follower_actor = caf::typed_actor<
    // On ranks other than the first: computes what rank 0 tells, to the end; answers the number of steps.
    caf::replies_to<run_atom>::with<std::int64_t>>;

// ---- the one-way door ----

static_assert(is_public<accountant_actor> && is_public<controller_actor> && is_public<trainer_actor> &&
                  is_public<hub_actor> && is_public<display_actor> && is_public<supervisor_actor> &&
                  is_public<follower_actor>,
              "a trusted value must not reach the public side");
static_assert(answers_publicly<gradient_actor> && answers_publicly<sanitizer_actor> &&
                  answers_publicly<evaluator_actor> && answers_publicly<auditor_actor>,
              "what a public actor can ask must not answer with a trusted value");

}  // namespace rldp::actors

#pragma once
// The canaries of an audit: extra units, each in training with probability ½ by a coin of the run key. No CAF.
#include "actors/run/inputs.hpp"
#include "config/spec.hpp"
#include "eval/audit/gradient_canary.hpp"
#include "eval/audit/report/membership_record.hpp"
#include "privacy/keys/random.hpp"

namespace rldp::actors {

/// What the gradients of audit.gradient_canaries are.
eval::gradient_canaries make_gradient_canaries(const config::reading_spec& spec, const config::clip_spec& clip,
                                             const models::lora_layout& layout);

/// Tosses the coins: once in a run's life, for the key's streams are others in every process. Afterwards
/// trusted/membership.json says who is in.
eval::membership_record toss_membership(const config::reading_spec& spec, const run_data& data,
                                        const privacy::run_key& key);

/// Who is in by the run's own record, at `origin`. Errors: bad_input where it is of other data or other canaries.
void check_membership(const eval::membership_record& who, const config::reading_spec& spec, const run_data& data,
                      const std::string& origin);

/// The training units with the canaries that are in, behind the others: a draw uses one number per unit, so nobody
/// else's draws change.
data::token_store training_units(data::token_store train, const std::vector<data::token_unit>& canaries,
                                 const eval::membership_record& who);

}  // namespace rldp::actors

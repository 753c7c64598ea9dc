#pragma once
// What a run leaves behind for its audit: the sum of its releases, its looks, and who of its canaries was in. No CAF.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "config/spec.hpp"
#include "eval/audit/attacks.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/mechanism/look.hpp"
#include "run/artifacts/membership.hpp"
#include "run/inputs.hpp"

namespace rldp::actors {

// Trace. trusted/trace.safetensors: the sum of a run's releases, for the audit of a run that is over.

/// `trace`: float64 or float32 [D].
void write_trace(const std::filesystem::path& path, const at::Tensor& trace);
/// Errors: bad_input naming the file, also where its checksum is not that of its bytes.
at::Tensor read_trace(const std::filesystem::path& path);

// Look trace. trusted/look_trace.json: what an audit sees of a run's looks at held-out units, and the made-up units
// that it planted among them (audit.look_canaries). A look tells a few sums, so canaries can't have directions of their
// own, as those of gradients have: canary j adds 2^(−⌊j/entries⌋) to the (j mod entries)-th number. Of exact sums every
// coin can be read off, largest first; noise of the size of one unit hides them.

struct traced_look {
    std::int64_t look = 0;
    std::vector<double> released, others;  ///< the noised sum; the exact one of all units but the canaries
};

/// What look canary `number` adds, of norm 1 at most.
std::vector<double> look_canary(std::size_t number, std::size_t entries);

/// Appends, and makes the file where there is none. Errors: bad_input for one that is damaged.
void add_to_trace(const std::filesystem::path& path, const traced_look& made);
std::vector<traced_look> read_look_trace(const std::filesystem::path& path);

/// Of each canary, larger where it seems to have been in; the surer, the farther from 0.
std::vector<double> look_scores(const std::vector<traced_look>& trace, std::size_t canaries);

// Canaries. Those of an audit: extra units, each in training with probability ½ by a coin of the run key.

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

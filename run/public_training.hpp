#pragma once
// What public records teach before a run begins: it costs no privacy (public.path, docs/privacy.md §7).
#include <filesystem>
#include <optional>

#include "config/spec.hpp"
#include "privacy/keys/seal.hpp"
#include "run/inputs.hpp"
#include "run/train/training.hpp"

namespace rldp::actors {

// Lessons. What public records taught, kept in a file.

/// What a model was taught, for a resume or for other runs: training again gives it up to rounding alone.
void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal);
/// The model as write_lessons() had it, from one that was not taught yet. Errors: as read_sealed.
run_model read_lessons(run_model model, const std::filesystem::path& path, const privacy::file_seal& seal);

// Public training. What public records are used for.

/// The model as training is to begin with it: an adapter is trained on the public records, without noise or clipping,
/// for public.steps batches of expected_batch_size, or of all records where there are fewer; rows of "template:N" are
/// seen once, in as many batches. Then, as public.use says,
///   warm_start  it begins from that adapter;
///   radii       public_norms are the medians of the unit gradients' norms per group on the way;
///   choose      nothing more is learned.
/// In any case public_sample holds the last 64 public records that predict something, which training comes to last, if
/// at all.
/// The same for the same configuration, up to rounding. Where `shared` is given, it is taken from that directory if it
/// lies there, and left there if not: cells of a grid that learn the same one after another learn it once. Errors:
/// bad_input for records that can't be read, or none, where training on them ends in numbers that are not finite, and
/// for a file in `shared` that is damaged.
run_model train_on_public(const config::run_spec& spec, run_model model,
                          const std::optional<std::filesystem::path>& shared = {});

/// Which iterate the public sample loses less on, per token, or per record on its values where the loss weighs those;
/// empty where nothing is to be chosen.
iterate_choice make_iterate_choice(const config::run_spec& spec, const run_model& model);

/// Log of what the public sample loses under an adapter, measured likewise, at most that of a million nats; empty where
/// no controller learns from it.
public_probe make_public_probe(const config::run_spec& spec, const run_model& model);

}  // namespace rldp::actors

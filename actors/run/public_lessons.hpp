#pragma once
// What public records teach before a run begins: it costs no privacy (public.path, docs/privacy.md §7).
#include "actors/run/inputs.hpp"
#include "config/config.hpp"
#include "privacy/keys/seal.hpp"

namespace rldp::actors {

/// The model as training is to begin with it: an adapter is trained on the public records, without noise or clipping,
/// for public.steps batches of expected_batch_size. Then, as public.use says,
///   warm_start  it begins from that adapter;
///   subspace    its layout has, of each matrix, the public.directions singular directions of the unit gradients on the
///   way
///               that are the largest;
///   radii       public_norms are the medians of the unit gradients' norms per group on the way.
/// The same for the same configuration, up to rounding. Errors: bad_input for records that can't be read, or too few,
/// for more directions than a matrix has, and where training on them ends in numbers that are not finite.
run_model taught(const config::run_config& config, run_model model);

/// What it was taught, for a resume: training again gives it up to rounding alone, and its coordinates mean nothing in
/// another subspace.
void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal);
/// The model as write_lessons() had it, from one that was not taught yet. Errors: as read_sealed.
run_model recalled(const config::run_config& config, run_model model, const std::filesystem::path& path,
                   const privacy::file_seal& seal);

/// `layout` with the sizes that it will have once it was taught.
models::lora_layout layout_once_taught(const config::run_config& config, models::lora_layout layout);

}  // namespace rldp::actors

#pragma once
// Clipping radii from public records: they cost no privacy.
#include <vector>

#include "actors/run/inputs.hpp"
#include "config/config.hpp"

namespace rldp::actors {

/// Trains a scratch adapter on the records of clip.public_data, without noise or clipping, for as many steps as the
/// controller's warm-up has (at least one); answers the medians of the unit gradients' norms per group over these
/// steps' batches. The same for the same configuration. Errors: bad_input for records that can't be read, or too few.
std::vector<double> public_radii(const config::run_config& config, const run_model& model);

}  // namespace rldp::actors

#pragma once
#include <string>

#include "models/causal_lm.hpp"

namespace rldp::models {

/// Keeps OpenBLAS, where it is the BLAS, to one thread for narrow models: between their many small products its threads only
/// spin (measured on config/demo.json, two hyperthreads: 8 s of system time in 13 s, and slower than one thread). The user's
/// OPENBLAS_NUM_THREADS wins.
void choose_blas_threads(const model_config& model);

/// The BLAS that answers, with its version and kernels; empty where it is not OpenBLAS.
std::string blas_name();

}  // namespace rldp::models

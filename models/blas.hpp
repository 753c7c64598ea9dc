#pragma once
// How matrix products are computed.
#include <string>

#include "config/base/kinds.hpp"
#include "models/causal_lm.hpp"

namespace rldp::models {

/// What OMP_NUM_THREADS says, else the physical cores that this process may use. (LibTorch's own count sees one core in
/// some virtual machines that have more.)
int default_threads();

/// Whether a model's operators are too small to be shared out among threads: each then ends with a wait for the slowest
/// thread, and with other work on the machine that is a time slice every time (a step of config/demo.json: 0.5 s alone,
/// 15 s beside a compilation).
bool is_narrow(const model_config& model);

/// Where addresses are limited (ulimit -v): has OpenBLAS map now what `callers` products at a time need. Asked later,
/// at the limit, it repeats the refused call forever. Errors: bad_input where the limit leaves too few.
void reserve_blas_memory(int callers);

/// Reserves what OpenBLAS needs, and sets the number of threads of the calling thread's operators. Where the BLAS is
/// OpenBLAS with threads of its own (not OpenMP's, which LibTorch shares), it is kept to one thread for narrow models,
/// in the whole process: between many small products its threads only spin, and take the processors from LibTorch's.
/// The user's OPENBLAS_NUM_THREADS wins.
void choose_threads(const model_config& model, int threads = default_threads());

/// The type of the weights for a precision. Sets for the whole process whether a CUDA device uses TensorFloat-32, and
/// that it computes the same bits from the same numbers, or fails: that no bit of a unit's gradient depends on another
/// unit (docs/privacy.md §6) can't hold where two runs differ. Errors: bad_input for tf32 on a device that is not CUDA.
at::ScalarType use_precision(precision type, at::Device device);

/// The BLAS that answers, with its version, of OpenBLAS kernels and kind of threads, too, and oneDNN's version where it
/// computes products, too; what LibTorch's build says where it is neither OpenBLAS nor MKL.
std::string blas_name();

}  // namespace rldp::models

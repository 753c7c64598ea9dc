#pragma once
// Which of OpenBLAS's kernels fit the processor: it reads OPENBLAS_CORETYPE when it is loaded, so that this must be
// known before LibTorch is.
#include <string>
#include <string_view>

namespace rldp::app {

struct processor {
    std::string vendor;   ///< as cpuid names it
    bool avx512 = false;  ///< F, CD, BW, DQ and VL, which the kernels need, and the system keeps their registers
};

/// A name for OPENBLAS_CORETYPE; empty where OpenBLAS knows best. OpenBLAS 0.3.21 takes AMD processors that are newer
/// than itself for ones without AVX-512.
std::string_view kernels_for(const processor& one);

/// Sets OPENBLAS_CORETYPE, unless the user has. The same processor gives the same kernels, so that a resumed run goes
/// on to the same bits.
void choose_blas_kernels();

}  // namespace rldp::app

#include "models/blas.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace rldp::models {

void choose_blas_threads(const model_config& model) {
    constexpr std::int64_t narrow = 256;
    if (model.width >= narrow || std::getenv("OPENBLAS_NUM_THREADS") != nullptr) return;
    // Looked up at run time: LibTorch is linked to whatever BLAS the system chose.
    using set_threads = void (*)(int);
    if (const auto set = reinterpret_cast<set_threads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
}

}  // namespace rldp::models

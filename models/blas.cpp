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

std::string blas_name() {
    using describe = const char* (*)();
    if (const auto config = reinterpret_cast<describe>(dlsym(RTLD_DEFAULT, "openblas_get_config"))) {
        // "OpenBLAS 0.3.21 DYNAMIC_ARCH … SkylakeX MAX_THREADS=64": name, version and the kernels it chose are of use.
        const std::string text = config();
        const auto version_end = text.find(' ', text.find(' ') + 1);
        const auto core = reinterpret_cast<describe>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
        return text.substr(0, version_end) + (core ? " (" + std::string(core()) + " kernels)" : "");
    }
    return {};
}

}  // namespace rldp::models

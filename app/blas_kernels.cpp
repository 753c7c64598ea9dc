#include "app/blas_kernels.hpp"

#include <cstdlib>
#include <string>

namespace rldp::app {

namespace {

processor processor_here() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return {.vendor = __builtin_cpu_is("amd")     ? "AuthenticAMD"
                      : __builtin_cpu_is("intel") ? "GenuineIntel"
                                                  : "",
            .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl")};
#else
    return {};
#endif
}

}  // namespace

std::string_view kernels_for(const processor& one) {
    return one.vendor == "AuthenticAMD" && one.avx512 ? "SkylakeX" : "";
}

void choose_blas_kernels() {
    constexpr int keep_users = 0;
    if (const auto name = kernels_for(processor_here()); !name.empty())
        ::setenv("OPENBLAS_CORETYPE", std::string(name).c_str(), keep_users);
}

}  // namespace rldp::app

#include "actors/threads.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>

namespace rldp::actors {

int all_threads() {
    return at::intraop_default_num_threads();
}

void use_threads(int count) {
    at::get_num_threads();  // LibTorch sets a new thread's number once; a later setting of ours would be overwritten
    // Looked up at run time: it must be the OpenMP that LibTorch itself runs on.
    using set_threads = void (*)(int);
    if (const auto set = reinterpret_cast<set_threads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(count);
}

void share_heap() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace rldp::actors

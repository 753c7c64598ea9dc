#include "models/thread_count.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace rldp::models {

void use_threads(int count) {
    at::get_num_threads();  // LibTorch sets a new thread's number once; a later setting of ours would be overwritten
    // Looked up at run time: it must be the OpenMP that LibTorch itself runs on.
    using set_threads = void (*)(int);
    if (const auto set = reinterpret_cast<set_threads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(count);
}

one_thread::one_thread() : before_(at::get_num_threads()) {
    use_threads(1);
}

one_thread::~one_thread() {
    use_threads(before_);
}

}  // namespace rldp::models

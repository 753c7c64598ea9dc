#include "models/thread_count.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace rldp::models {

namespace {

// Looked up at run time: it must be the function of the library that LibTorch itself runs on.
template <typename Setter>
void call_if_there(const char* name, int count) {
    if (const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, name))) set(count);
}

}  // namespace

void use_threads(int count) {
    // LibTorch sets a new thread's number once: its library, and each program whose own code calls at::parallel_for().
    // A later setting of ours would be overwritten.
    at::get_num_threads();
    at::internal::lazy_init_num_threads();
    call_if_there<void (*)(int)>("omp_set_num_threads", count);
    call_if_there<int (*)(int)>("MKL_Set_Num_Threads_Local",
                                count);  // where at::set_num_threads() was called, MKL asks no OpenMP
}

one_thread::one_thread() : before_(at::get_num_threads()) {
    use_threads(1);
}

one_thread::~one_thread() {
    use_threads(before_);
}

}  // namespace rldp::models

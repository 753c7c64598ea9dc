// OpenMP's parallel regions, each by threads of its own that are started and joined: the thread sanitizer sees where a
// region begins and ends, which in GCC's library it can't, and so what runs in one may race with nothing else. Only
// what LibTorch's headers and library call is here; outside a region GCC's library answers. Linked by builds under that
// sanitizer alone.
#include <dlfcn.h>

#include <thread>
#include <vector>

namespace {

thread_local int crew = 0;  // threads of the region that this one works in; 0: none
thread_local int place = 0;

template <class Function>
Function* of_library(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int omp_get_max_threads() {
    static const auto otherwise = of_library<int()>("omp_get_max_threads");
    return crew > 0 ? 1 : otherwise();  // a region within a region has one thread
}

int omp_get_num_threads() {
    return crew > 0 ? crew : 1;
}

int omp_get_thread_num() {
    return place;
}

int omp_in_parallel() {
    return crew > 1 ? 1 : 0;
}

void GOMP_parallel(void (*body)(void*), void* data, unsigned asked, unsigned /*binding*/) {
    const int threads = crew > 0 ? 1 : asked > 0 ? static_cast<int>(asked) : omp_get_max_threads();
    const auto work = [=](int which) {
        const int crew_before = crew, place_before = place;
        crew = threads;
        place = which;
        body(data);
        crew = crew_before;
        place = place_before;
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
}
}

#include "actors/threads.hpp"

#include <malloc.h>

#include "models/blas.hpp"

namespace rldp::actors {

system_config::system_config() {
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", 2);
}

int all_threads() {
    return models::default_threads();
}

void share_heap() {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    // Setting one threshold stops glibc from adapting the other: without this a tensor of 128 KiB is a mapping of its
    // own.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes
}

}  // namespace rldp::actors

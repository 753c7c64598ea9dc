#include "actors/threads.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <thread>
#include <vector>

#include "models/device.hpp"

namespace rldp::actors {

namespace {

/// CAF ends the process, or waits for ever at the end, where it can't start a thread: so that many are started, and
/// ended, before it starts its first.
void require_threads(std::size_t count) {
    std::promise<void> all;
    const auto started = all.get_future().share();
    std::vector<std::thread> threads;
    std::string refused;
    try {
        while (threads.size() < count) threads.emplace_back([started] { started.wait(); });
    } catch (const std::system_error& reason) {
        refused = reason.what();
    }
    all.set_value();
    for (auto& each : threads) each.join();
    if (!refused.empty())
        throw error(errc::failed,
                    fmt::format("{} threads can be started here, and {} are needed ({}); raise the limit on addresses "
                                "(ulimit -v), on processes (ulimit -u) or that of the control group",
                                threads.size(), count, refused));
}

}  // namespace

system_config::system_config() {
    constexpr std::size_t of_a_run = 20;  // of the scheduler, actors with threads of their own, what shows and listens
    require_threads(of_a_run);
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

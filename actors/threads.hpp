#pragma once
// Threads and memory of a process whose actors pass large tensors to each other. Training has the processors: of the
// actors only gradient computes on several threads for long. libgomp keeps the workers of a thread as long as that
// thread lives, and while a process has more of them than processors, all sleep between operators (a thousand times in
// a step of the demo).
#include <caf/actor_system_config.hpp>
#include <future>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "models/thread_count.hpp"

namespace rldp::actors {

/// Settings of every actor system here: no log files, and scheduler threads that wait for work. (By default at least
/// four of them poll for it, 800 times a second each.) Two suffice: actors that compute have threads of their own.
/// Errors: failed where the process may not start the threads of a run.
struct system_config : caf::actor_system_config {
    system_config();
};

/// As many as training may use: models::default_threads().
int all_threads();

/// Of one actor: an evaluation under way must not slow down training for good.
using models::use_threads;

/// Runs `work` with `count` threads on a thread that ends with it, and so do its workers. Errors: failed where the
/// system starts no thread more.
template <class Work>
auto on_passing_thread(int count, Work work) {
    const auto started = [&] {
        try {
            return std::async(std::launch::async, [&] {
                use_threads(count);
                return work();
            });
        } catch (const std::system_error& reason) {
            throw error(errc::failed, std::string("no more threads can be started: ") + reason.what() +
                                          "; a limit on memory, addresses or processes is reached");
        }
    };
    return started().get();
}

/// One heap for all threads, before the first is started, that keeps what was freed: tensors are made by one actor and
/// freed by another, and with a heap per thread every step would take fresh pages from the system (3 % of a step of the
/// demo).
void share_heap();

}  // namespace rldp::actors

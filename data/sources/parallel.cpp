#include "data/sources/parallel.hpp"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace rldp::data {

namespace {

struct failure {
    std::size_t index = 0;
    std::exception_ptr reason;
};

}  // namespace

void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::vector<failure> failed(static_cast<std::size_t>(threads));
    const auto run = [&](std::size_t worker) noexcept {
        while (!stop) {
            const auto index = next++;
            if (index >= count) return;
            try {
                work(worker, index);
            } catch (...) {
                failed[worker] = {index, std::current_exception()};
                stop = true;
            }
        }
    };
    {
        std::vector<std::jthread> running;
        for (std::size_t worker = 1; worker < failed.size(); ++worker) running.emplace_back(run, worker);
        run(0);
    }
    // Taken in order, so the first failing one was tried in any case: report that one.
    failure first{count, nullptr};
    for (const auto& one : failed)
        if (one.reason && one.index < first.index) first = one;
    if (first.reason) std::rethrow_exception(first.reason);
}

}  // namespace rldp::data

#include "rl/prepare/parallel.hpp"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "config/base/require.hpp"

namespace rldp::rl {

void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work) {
    require(jobs >= 1, "work needs a thread");
    std::vector<std::exception_ptr> failures(count);
    std::atomic<std::size_t> next = 0;
    const auto serve = [&] {
        for (std::size_t i = next++; i < count; i = next++) try {
                work(i);
            } catch (...) {
                failures[i] = std::current_exception();
            }
    };
    {
        std::vector<std::jthread> others;
        for (int i = 1; i < jobs; ++i) others.emplace_back(serve);
        serve();
    }
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace rldp::rl

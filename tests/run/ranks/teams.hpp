#pragma once
// Several ranks in one process: a team of each on a thread of its own.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "run/ranks/team.hpp"
#include "tests/support/ports.hpp"

namespace rldp::testing {

inline ranks::place make_place(std::size_t rank, std::size_t count, std::uint16_t port) {
    return {.rank = rank,
            .ranks = count,
            .local_rank = rank,
            .launcher = 0,
            .host = "127.0.0.1",
            .port = port,
            .store_elsewhere = false,
            .round = {},
            .patience = std::chrono::seconds(600)};
}

using member = std::function<void(const std::shared_ptr<ranks::team>&)>;

/// Calls `act` with the team of each rank; answers what each threw, empty where nothing.
inline std::vector<std::string> as_ranks(
    std::size_t count, const member& act, const std::function<privacy::cluster_secret(std::size_t)>& secret_of = {},
    std::chrono::seconds timeout = std::chrono::seconds(20),
    const ranks::on_silence& silent = [](const std::string&) {}) {
    const auto port = free_port();
    const auto common = privacy::cluster_secret::from_system();
    std::vector<std::string> out(count);
    const auto one = [&](std::size_t rank) {
        try {
            const auto team = std::make_shared<ranks::team>(make_place(rank, count, port),
                                                            secret_of ? secret_of(rank) : common, timeout, silent);
            act(team);
        } catch (const std::exception& thrown) {
            out[rank] = thrown.what();
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t rank = 1; rank < count; ++rank) threads.emplace_back(one, rank);
    one(0);
    for (auto& thread : threads) thread.join();
    return out;
}

}  // namespace rldp::testing

#pragma once
// What ranks have for each other at any time, whatever they compute: a shared base's layers.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/link.hpp"
#include "run/ranks/processes.hpp"

namespace rldp::ranks {

/// Each rank asks whom it likes when it likes, and a thread for each other rank answers from memory. That thread waits
/// for nothing but the network, so no rank waits for what another computes, and none has to know how often it is asked.
class lending {
  public:
    /// What is lent under a number, in parts, and what keeps it there.
    struct loan {
        std::vector<std::span<const char>> parts;
        std::shared_ptr<const void> owner;
    };
    /// Called from several threads at a time, for numbers that this rank lends.
    using shelf = std::function<loan(std::uint64_t number)>;

    lending(const place& where, std::shared_ptr<const privacy::meeting> meeting, mesh streams, shelf has);
    ~lending();
    lending(const lending&) = delete;
    lending& operator=(const lending&) = delete;

    /// Fills `parts`, which are as long as those that rank `from` lends under `number`. From one thread at a time.
    /// Errors: peer_error where that rank is gone, or what arrives is not what it sent.
    void borrow(std::size_t from, std::uint64_t number, std::span<const std::span<char>> parts);

  private:
    void serve(std::size_t to) const;

    place where_;
    std::shared_ptr<const privacy::meeting> meeting_;
    mesh streams_;
    shelf has_;
    std::vector<std::uint64_t> asked_, received_;  ///< messages so far, by rank
    std::vector<char> sealed_;
    std::vector<std::thread> threads_;
};

}  // namespace rldp::ranks

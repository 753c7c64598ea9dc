#pragma once
// Bytes and sums between rank 0 and each other rank: in clear. What a run says goes through a team (team.hpp).
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/processes.hpp"

namespace rldp::ranks {

/// What a rank says that has only heard of another's end.
inline constexpr std::string_view gone = "another rank is gone";

/// Called, with a line for the user, where another rank has been silent for longer than the timeout, though its
/// connections stand, or is gone and no call below has noticed: one may then wait for ever, and nothing can end in
/// order. From a thread of the wire's own.
using on_silence = std::function<void(const std::string&)>;

/// Of every call below: all ranks make the same ones in the same order, and each waits for the others as long as they
/// are there. Errors: failed where a rank is gone.
class wire {
  public:
    /// Waits for all ranks, by the links that --workers made or through the door (door.hpp). Errors: as there.
    wire(const place& where, const privacy::cluster_secret& secret, std::chrono::seconds timeout,
         const on_silence& silent);
    ~wire();
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    /// Rank 0's bytes, which have the same length everywhere.
    void broadcast(std::span<char> bytes);
    /// Everybody's, of the same length, in the order of ranks.
    std::string gather(const std::string& mine);
    /// The sum modulo 2⁶⁴, on rank 0.
    void sum(std::span<std::int64_t> numbers);
    /// On rank 0: where the others' connections come from, by rank, as numbers; empty for this machine's loopback, and
    /// where --workers made them. Elsewhere nothing.
    std::vector<std::string> hosts() const;
    /// Nobody will be missed from now on. Returns once all ranks have said so, or one is gone.
    void leave();

  private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace rldp::ranks

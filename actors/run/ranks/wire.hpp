#pragma once
// Bytes and sums between processes, by LibTorch's c10d over Gloo: in clear, and believing whoever speaks. What a run
// says goes through a team (team.hpp).
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/run/ranks/place.hpp"

namespace rldp::ranks {

/// Whether this build has it (libgloo-dev).
bool has_wire();

/// What a rank says that has only heard of another's end.
inline constexpr std::string_view gone = "another rank is gone";

/// Called, with a line for the user, where a rank has been silent for longer than the timeout, though its connections
/// stand: a call below may then wait for ever. From a thread of the wire's own.
using on_silence = std::function<void(const std::string&)>;

/// Of every call below: all ranks make the same ones in the same order, and each waits for the others as long as they
/// are there. Errors: failed where a rank is gone.
class wire {
  public:
    /// Waits for all ranks. Errors: bad_input where the build has none; failed where they don't come.
    wire(const place& where, std::chrono::seconds timeout, const on_silence& silent);
    ~wire();
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    /// Rank 0's bytes, which have the same length everywhere.
    void broadcast(std::span<char> bytes);
    /// Everybody's, of the same length, in the order of ranks.
    std::string gather(const std::string& mine);
    /// The sum modulo 2⁶⁴, on rank 0.
    void sum(std::span<std::int64_t> numbers);
    /// Nobody will be missed from now on. Returns once all ranks have said so.
    void leave();

  private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace rldp::ranks

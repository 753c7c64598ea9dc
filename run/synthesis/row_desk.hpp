#pragma once
// Rows that several threads make: who makes which, and their order.
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "run/synthesis/synthesis.hpp"
#include "run/synthesis/waiting_rows.hpp"

namespace rldp::actors {

/// Numbers rows for several threads, and puts those that are whole into order. What it is made from outlives it.
class row_desk {
  public:
    /// Of `rows` in all those that `waiting` has not yet.
    row_desk(std::int64_t rows, const std::vector<std::string>& columns, waiting_rows& waiting,
             const synthesis_hooks& hooks);

    /// Lets so many rows be claimed, from the first on.
    void open_up_to(std::int64_t rows);
    /// The number of a row to make; nothing once all that are open are claimed.
    std::optional<std::uint64_t> claim();
    void take(std::uint64_t number, std::vector<std::string> cells);
    /// Of rows that are whole all those before which none is missing.
    void flush();

  private:
    using clock = std::chrono::steady_clock;

    void write();

    const std::int64_t rows_;
    std::int64_t open_ = 0;  ///< how many may be claimed by now
    const std::vector<std::string>& columns_;
    waiting_rows& waiting_;
    const synthesis_hooks& hooks_;
    std::int64_t begun_with_, made_ = 0, timed_from_ = 0;
    std::mutex mutex_;
    std::uint64_t next_ = 0, written_ = 0;
    std::map<std::uint64_t, std::vector<std::string>> ready_;
    clock::time_point began_ = clock::now(), flushed_ = began_;
};

}  // namespace rldp::actors

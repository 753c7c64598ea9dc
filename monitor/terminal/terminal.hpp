#pragma once
// Runs as a terminal shows them to a person: one as a line, several as a table.
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

// Progress. One line of text that shows a run to a person.

/// Estimates the time left from the steps and the clock between the first and the latest view of one run.
class time_left {
  public:
    using clock = std::chrono::steady_clock;
    void observe(const run_view& seen, clock::time_point now);
    std::optional<std::chrono::seconds> estimate() const;

  private:
    std::int64_t first_step_ = -1, step_ = 0, steps_ = 0;
    clock::time_point first_, last_;
};

/// "demo ███░░░ step 42/120  loss 1.830  ε ~3.10 of 8.00 guaranteed  00:01:15 left"; the bar gives way first where
/// `width` columns are too few. "~" marks progress ε, which is for orientation; what is guaranteed is the budget as a
/// whole.
std::string progress_line(const run_view& seen, std::optional<std::chrono::seconds> left, std::size_t width);

// Table. Several runs as a table for a terminal.

class run_table {
  public:
    void observe(const run_view& seen);
    /// A heading, and a line per run by name: state, steps, the loss of its last values as a sparkline, loss,
    /// perplexity, ε. No line has more than `width` columns: 80 suffice for all of it, and where there are fewer the
    /// sparkline goes first, then perplexity, then loss. At most `height` lines, those of runs that go on first.
    std::string drawn(std::size_t width, std::size_t height) const;

  private:
    struct row {
        run_view latest;
        std::deque<double> losses;
    };
    std::map<std::string, row> runs_;
};

/// Eight heights from the least of `values` to the greatest, a column each; blank where there is none.
std::string sparkline(const std::deque<double>& values, std::size_t width);

}  // namespace rldp::monitor

#pragma once
// Several runs as a table for a terminal.
#include <deque>
#include <map>
#include <string>

#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

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

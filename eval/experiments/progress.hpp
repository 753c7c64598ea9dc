#pragma once
// How far a grid has come, on standard error: a line rewritten in place on a terminal, elsewhere a line per cell.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/run.hpp"

namespace rldp::eval {

/// Counts cells and estimates the time left from those that ran here.
class grid_tally {
  public:
    explicit grid_tally(std::size_t cells) : cells_(cells) {}

    void ended(cell_state how, bool kept);
    std::size_t over() const { return over_; }
    std::size_t of() const { return cells_; }
    std::size_t failed() const { return failed_; }
    /// Seconds, from the work done in `elapsed`; nothing while too little is known.
    std::optional<double> left(double elapsed, const std::vector<cell_progress>& running, std::size_t waiting) const;

  private:
    std::size_t cells_, over_ = 0, failed_ = 0, ran_ = 0;
};

/// "3/45 cells · static-eps2-seed0 41 % · about 12 min left", in at most `width` columns.
std::string progress_line(const grid_tally& tally, const std::vector<cell_progress>& running,
                          std::optional<double> left, std::size_t width);

/// "[3/45] static-eps2-seed0: done, perplexity 4.213". Neither its time nor why it failed: that stands in the log,
/// whose path it names.
std::string ended_line(const grid_tally& tally, const cell_files& files, cell_state how, bool kept,
                       const cell_result& result);

/// The watcher that writes these lines to standard error, and nothing if `quiet`.
watcher progress_on_terminal(std::size_t cells, const std::filesystem::path& out, bool quiet);

}  // namespace rldp::eval

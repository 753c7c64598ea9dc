#pragma once
// A grid's directory, followed as it fills up: its public description and progress, never its owner's side.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "monitor/watch/public_side.hpp"

namespace rldp::monitor {

struct grid_view {
    std::string id, name;  ///< as run_view's
    std::string kind;      ///< compare, sweep, protocol; empty: not known
    struct cell {
        std::string name;   ///< of its run's directory below cells/
        std::string state;  ///< waiting, running, interrupted, failed, done
    };
    std::vector<cell> cells;  ///< as of the last invocation; runs of earlier ones have directories, and no place here
    std::string problem;      ///< what can't be read; one line, or nothing
};

class followed_grid {
  public:
    followed_grid(std::string id, std::string name, const std::filesystem::path& directory);
    /// Looks at what changed; answers whether anything did. Throws not for what a file says wrong.
    bool refresh();
    const grid_view& view() const { return view_; }

  private:
    const std::filesystem::path description_, progress_;
    std::optional<file_state> described_, progressed_;
    grid_view view_;
};

}  // namespace rldp::monitor

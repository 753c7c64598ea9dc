#pragma once
// Only for sources. OUT/progress.json: how far a grid has come, for whoever watches it. Public: states, no times, and
// of failures only that they were.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

class progress_file {
  public:
    /// All cells wait. Errors: storage_error, here and below.
    progress_file(const std::filesystem::path& out, const std::vector<cell>& cells);

    void begins(const std::string& id) { set(id, "running"); }
    /// unfinished: "interrupted".
    void ends(const std::string& id, cell_state how);

  private:
    void set(const std::string& id, const std::string& state);
    void write() const;

    std::filesystem::path path_;
    std::vector<std::pair<std::string, std::string>> cells_;  ///< id and state
};

}  // namespace rldp::eval

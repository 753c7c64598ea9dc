#pragma once
// Directories of grids and of runs, followed as they grow. Only what is public of them is opened.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitor/view/run_view.hpp"
#include "monitor/watch/history.hpp"
#include "monitor/watch/public_side.hpp"

namespace rldp::monitor {

// Grids. A grid's directory, followed as it fills up: its public description and progress, never its owner's side.

struct grid_view {
    std::string id, name;  ///< as run_view's
    std::string kind;      ///< compare, sweep, protocol, tune; empty: not known
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

// Runs. A run's directory, followed as it grows. Only its public side is opened, and nothing of it is changed.

class followed_run {
  public:
    followed_run(std::string id, std::string name, const std::filesystem::path& directory);

    /// Looks at what changed; answers whether anything did. What a file says wrong is in view().problem, and throws
    /// not.
    bool refresh();
    /// What the run itself says, from within its process: it knows its state better than its files.
    void tell(const run_view& now);
    /// A table that is made of it, likewise; its rows stand in the place of the summary's.
    void tell(table_progress now);

    const run_view& view() const { return view_; }
    const std::filesystem::path& directory() const { return directory_; }
    /// Report or certificate as it stands there, HTML; nothing where there is none.
    std::optional<std::string> page(public_file which) const;
    /// All steps so far; read from the first on when it is first asked for, then followed until forget().
    const history& past();
    void forget() { history_.reset(); }
    bool remembers() const { return history_ != nullptr; }

  private:
    void read_summary();
    void read_config();
    void read_ledger();
    void read_last_lines();
    void follow();
    void note_line(const std::string& text);
    void settle_state();

    const std::filesystem::path directory_;
    const public_side files_;
    run_view view_;
    std::string announced_;        ///< state, by the run itself
    std::string summarised_;       ///< by the summary
    bool ended_for_good_ = false;  ///< not resumable, by the summary
    std::optional<file_state> config_, ledger_, metrics_, summary_, certificate_, report_page_, certificate_page_;
    bool has_header_ = false;
    std::unique_ptr<history> history_;
    std::uint64_t inode_ = 0;  ///< of the file that history_ is of
    std::uintmax_t read_ = 0;  ///< bytes of it that history_ knows
    std::int64_t lines_ = 0;   ///< that history_ knows
};

}  // namespace rldp::monitor

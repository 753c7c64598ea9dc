#pragma once
// The runs and grids below some directories: found, followed, told apart.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "monitor/watch/followed.hpp"

namespace rldp::monitor {

struct catalog_limits {
    std::size_t runs = 10'000;
    int depth = 6;                             ///< of directories below one that was named
    std::size_t remembered = 8;                ///< histories kept at a time; who was looked at longest ago is forgotten
    std::chrono::milliseconds search{10'000};  ///< between two looks for new runs
};

/// What a run of that name is called in addresses, unless another one is already: letters, digits and few signs.
std::string to_id(const std::string& name);

class catalog {
  public:
    using clock = std::chrono::steady_clock;

    /// Directories that are runs themselves, or hold runs below. Errors: bad_input for one that is no directory.
    explicit catalog(const std::vector<std::filesystem::path>& roots, catalog_limits limits = {});
    /// One more; errors as above.
    void follow(const std::filesystem::path& root);

    /// Follows every run; looks for new ones now and then. Whether anything changed.
    bool refresh(clock::time_point now = clock::now());
    /// In the order of their names.
    const std::vector<std::unique_ptr<followed_run>>& runs() const { return runs_; }
    const std::vector<std::unique_ptr<followed_grid>>& grids() const { return grids_; }
    /// By id; nullptr where there is none.
    const followed_grid* find_grid(std::string_view id) const;
    followed_run* find(std::string_view id);
    /// Its history, of which no more than limits.remembered are kept.
    const history& past(followed_run& of);
    /// Grows with every change that refresh() or a run's own word brought.
    std::uint64_t version() const { return version_; }
    void changed() { ++version_; }

  private:
    void search();
    std::string name_below(const std::filesystem::path& root) const;
    void search_below(const std::filesystem::path& directory, const std::string& name, int depth);
    void add(const std::filesystem::path& directory, const std::string& name);
    void add_grid(const std::filesystem::path& directory, const std::string& name);
    /// Whether there were any.
    bool forget_the_gone();
    /// Whether it was not known before.
    bool is_new(const std::filesystem::path& where);

    std::vector<std::filesystem::path> roots_;
    const catalog_limits limits_;
    std::vector<std::unique_ptr<followed_run>> runs_;
    std::vector<std::unique_ptr<followed_grid>> grids_;
    std::vector<std::filesystem::path> known_;  ///< sorted
    std::vector<followed_run*> recent_;         ///< with a history, the latest last
    clock::time_point next_search_ = clock::time_point::min();
    std::uint64_t version_ = 0;
};

}  // namespace rldp::monitor

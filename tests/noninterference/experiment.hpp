#pragma once
// One run on a table A, and runs on other tables with A's releases in place of their own: what of them shows?
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/noninterference/tables.hpp"

namespace rldp::testing {

struct scenario {
    layout how;
    nlohmann::json config;  ///< all but data.path and data.template
    std::string halt = {};  ///< of the first process, as RLDP_HALT has it; a second one resumes
    bool plan = false;      ///< what `rldp check` says is compared, too
    bool init = false;      ///< the configuration is what `rldp init` makes of the table; `config` is set over it
    bool terminal = false;  ///< both streams are a terminal
    std::size_t units = 24;
};

/// All that is public about a run by what it is called: files, both streams, exit statuses, views, the plan.
using public_side = std::map<std::string, std::string>;

/// A line per difference: where it is, and how it begins on either side.
std::vector<std::string> differences(const public_side& a, const public_side& b);

class experiment {
  public:
    /// Runs on `a`. Both runs have the same configuration and paths, in folders of their own below `folder`.
    experiment(std::filesystem::path folder, scenario how, const table& a);
    /// Runs on `b` with the releases of `a`. What differs?
    std::vector<std::string> compare(const table& b);

    const public_side& first() const { return first_; }
    std::size_t bytes() const { return bytes_; }  ///< compared so far

  private:
    public_side run_on(const table& rows, const std::string& name, std::map<std::string, std::string> environment);

    std::filesystem::path folder_;
    scenario how_;
    public_side first_;
    std::size_t bytes_ = 0;
};

}  // namespace rldp::testing

#pragma once
// Looks at a run's files between its processes, remembers what it saw, and objects to what must never happen (privacy
// docs/privacy.md §5).
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "privacy/keys/seal.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::testing {

class witness {
  public:
    explicit witness(const std::filesystem::path& run) : where_{run} {}

    /// Checks everything against what was seen before. Not while a process writes: it must be stopped or dead.
    void look();
    /// look() after a kill: a charge whose release is not there now is lost for good, and one kill loses one at most,
    /// of steps and of looks.
    void look_at_the_dead();
    /// Whether the last charge, of a step or a look, waits for a release that may still come.
    bool pending();
    /// Whether the last charge was lost by the last kill: its line could as well be torn.
    bool just_lost() const { return lost_now_; }
    /// Cuts so many bytes off the ledger's last line, as a crash before its fsync returned would. It must have no
    /// release.
    void tear(std::size_t bytes);

    bool begun() const;     ///< the run directory is in place
    bool finished() const;  ///< the key is erased
    const std::set<std::uint64_t>& lost() const { return lost_; }
    /// The steps at whose looks a kill came.
    const std::set<std::int64_t>& lost_looks() const { return lost_looks_; }
    std::size_t charges() const { return hashes_.size(); }
    double epsilon_guaranteed() const { return guaranteed_; }

  private:
    void read_ledger();
    void read_releases();
    void read_looks();
    void read_metrics();
    bool look_pending() const;
    std::int64_t checkpointed();
    privacy::file_seal seal() const;

    eval::run_directory where_;
    privacy::ledger_content ledger_;
    std::vector<std::string> hashes_;                ///< of the ledger's lines: none may ever change or vanish
    std::map<std::uint64_t, std::string> released_;  ///< bytes of every release ever seen, by seq
    std::map<std::int64_t, std::string> looks_;      ///< what every look ever seen said, by step
    std::map<std::int64_t, eval::metrics_line> shown_;
    std::set<std::uint64_t> lost_;
    std::set<std::int64_t> lost_looks_;
    bool lost_now_ = false;
    double guaranteed_ = -1;
};

}  // namespace rldp::testing

#pragma once
// One run directory, what is done to it, and what comes of it.
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/judge.hpp"
#include "tests/faults/witness.hpp"

namespace rldp::testing {

/// What happens to a process.
struct disturbance {
    std::string orders = {};                              ///< to the preloaded library
    std::map<std::string, std::string> environment = {};  ///< in addition
    std::map<int, rlim_t> limits = {};
    stream out = stream::kept, err = stream::kept;
    std::optional<microseconds> kill_after = {};
    std::optional<microseconds> stop_after = {};  ///< SIGSTOP, for `stopped`
    microseconds stopped = {};
    std::optional<std::uint64_t> memory = {};  ///< bytes, of a control group

    bool kills() const { return kill_after || memory || orders.find(":die-") != std::string::npos; }
};

struct verdict {
    std::string outcome;  ///< finished, resumed, refused or FAILED
    std::string symptom;
};

class scene {
  public:
    /// Nothing is there yet.
    scene(const ground& on, const reference& whole, const path& root);

    /// Instead, what was left of the run that was killed in its middle.
    void from_interrupted();

    /// A command in this yard, to its end. What it did, and what it said, is judged.
    answer go(const std::vector<std::string>& arguments, const disturbance& what = {});
    /// `rldp run` in its beginning form or as --resume, whichever goes on from here.
    std::vector<std::string> next() const;
    /// Goes on without faults until the run is over. Where data were lost or changed, a
    /// command may also refuse, by name.
    void finish(bool may_refuse = false);

    /// The journal of the last command.
    const std::vector<event>& journal() const { return journal_; }
    const yard& where() const { return where_; }
    const reference& whole() const { return whole_; }
    witness& seen() { return seen_; }
    /// Call when whatever ran beside has ended: it looks for what is left behind, too.
    verdict judged();

  private:
    const ground& on_;
    const reference& whole_;
    yard where_;
    witness seen_;
    std::vector<event> journal_;
    int commands_ = 0, runs_ = 0;
    bool done_ = false, refused_ = false, went_on_ = false;
};

}  // namespace rldp::testing

#pragma once
// A protocol: what a comparison will do, written down before its results are seen (rldp compare --protocol FILE).
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "eval/grid/cell_files.hpp"
#include "eval/grid/grid.hpp"
#include "eval/statistics/better.hpp"

namespace rldp::eval {

/// What is compared of a run that is done. Each is better the lower it is, but for auc and accuracy.
struct measure {
    std::string name;  ///< perplexity | value_nats | bits_per_byte | auc | accuracy
    better which = better::lower;

    /// At the end of the run. Absent where the run has no such number.
    std::optional<double> of(const run_summary& done) const;
    /// Before its first step.
    std::optional<double> before(const run_summary& done) const;
    /// Over the run, as far as the run log has it: perplexity and value_nats, else nothing.
    std::optional<double> of(const metrics_line& line) const;
    bool prefers(double one, double other) const { return which == better::lower ? one < other : one > other; }
};

/// One side of the comparison: a method with everything that it is given.
struct arm {
    std::string name, sentence;
    std::vector<std::string> set;  ///< "dotted.key=json" on the base
    std::vector<axis> tuned;       ///< keys that are chosen for it, with the values to choose from
};

struct protocol {
    std::string sentence;        ///< what it is about
    std::filesystem::path base;  ///< the configuration that all arms begin from
    measure compared;
    std::vector<double> epsilons;
    std::vector<std::int64_t> seeds;
    std::vector<arm> arms;  ///< in the file's order
    /// Every arm gets as many trials, or all that it has; on data that are not those of the test.
    struct {
        std::vector<std::string> set;  ///< of all trials
        std::vector<std::int64_t> seeds;
        std::int64_t trials = 0;  ///< settings of each arm and ε; 0: nothing is tuned
        std::int64_t draw = 0;    ///< decides which of an arm's settings are tried
    } tuning;
    std::string ours;  ///< the arm that the others are compared with

    /// The least p, after Holm, that paired permutations of so many seeds can give each of so many arms.
    double least_p() const;
};

/// A JSON object with "about", "base", "measure", "epsilons", "seeds", "arms" (name: {"about", "set": {key: value},
/// "not_tuned": [key]}), "tuning" ({"set", "seeds", "trials", "draw", "axes": {key: [values]}}) and "ours". Paths are
/// relative to the file. Errors: bad_input naming file and key: an unknown measure or configuration key, a value that
/// the key does not take, a seed that is tuned on and tested, and in arms and axes a key that all arms share, for it
/// says which data, which contract or which evaluation.
protocol read_protocol(const std::filesystem::path& file);

/// Settings of an arm to be tried, as overrides: `tuning.trials` of all combinations of its axes, no two the same, the
/// same for the same draw; combinations of equal axes are the same for every arm. One that sets nothing where nothing
/// is tuned.
std::vector<std::vector<std::string>> list_trials(const arm& which, const protocol& of);

}  // namespace rldp::eval

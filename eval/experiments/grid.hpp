#pragma once
// Grids of runs: axes and cells, how they are named on the command line, which units they share, what all of them set.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rldp::eval {

// Lists. As the command line writes them: "0.5,2,4". Errors (bad_input) begin with the option's name.

/// The parts between commas; commas within JSON's brackets and strings do not count. Errors: an empty part, a part
/// twice.
std::vector<std::string> distinct_list(const std::string& option, const std::string& text);
/// Finite numbers above 0. Errors also: anything else, a number twice, however it is written.
std::vector<double> positive_list(const std::string& option, const std::string& text);
/// Whole numbers from 0.
std::vector<std::int64_t> seed_list(const std::string& option, const std::string& text);

// Splits. Which units of the data a cell trains on, and of which it shows held-out values.

/// The keys that decide on which side a unit of real data stands, and their values as JSON. Cells with equal ones train
/// on the same units and show the others'.
using data_split = std::map<std::string, std::string>;

/// Of a resolved configuration; nothing where its data are made up.
std::optional<data_split> find_split(const nlohmann::ordered_json& configuration);

/// The keys in which they differ, in alphabetical order.
std::vector<std::string> keys_that_differ(const std::vector<data_split>& splits);

// Grid. Axes, cells, and the file that says which grid a directory holds. Pure but for that file.

struct axis {
    std::string name;
    std::vector<std::string> values;  ///< as JSON or plain words, each once
};

/// One run of the grid.
struct cell {
    std::string id;                           ///< a legible directory name, unique in the grid
    std::map<std::string, std::string> at;    ///< its value on the axes that concern it
    std::vector<std::string> overrides;       ///< "dotted.key=json" on the base configuration
    std::optional<data_split> split = {};     ///< as resolved; absent: its data are made up
    std::string arm = {};                     ///< whose it is: a method, an arm of a protocol, a setting of a sweep
    double epsilon = 0;                       ///< its budget; 0: the base's
    std::optional<std::int64_t> seed = {};    ///< absent: the base's
    std::optional<std::size_t> setting = {};  ///< number of the setting that is tried, or was chosen for the arm
    bool trial = false;                       ///< is run to choose a setting, on data that are not the test's
    std::size_t number = 0;  ///< its place in the plan, whatever else can be run yet: decides which shard has it
};

/// Of texts "dotted.key=v1,v2", at least one. Errors: bad_input for a key that is not in the schema (naming the
/// nearest), a key twice, a malformed list.
std::vector<axis> axes_from(const std::vector<std::string>& keys);
/// Every combination, the last axis fastest: its values as arm, overrides and a first id.
std::vector<cell> combine(const std::vector<axis>& axes);

struct grid {
    std::string kind;  ///< compare | sweep | protocol | tune
    std::vector<axis> axes;
    /// The base configuration as resolved, without the keys that all cells set.
    nlohmann::ordered_json base;
};

/// The resolved configuration of the base with these overrides. Errors: bad_input as config::load.
using resolver = std::function<nlohmann::ordered_json(const std::vector<std::string>& overrides)>;
/// Of a file and the user's own --set, which come before the cells' overrides.
resolver make_resolver(const std::filesystem::path& config, const std::vector<std::string>& set);

/// The value at a dotted key of a resolved configuration; null where there is none.
nlohmann::ordered_json value_at(const nlohmann::ordered_json& configuration, const std::string& key);
void erase_key(nlohmann::ordered_json& configuration, const std::string& key);

/// The cell's configuration as resolved; takes its split from it. Errors: a refusal, with the cell's name before it.
nlohmann::ordered_json resolve_cell(cell& one, const resolver& resolve);

/// `text` as a part of a directory name: letters, digits and . _ + - stay, whatever else becomes _.
std::string as_file_name(const std::string& text);

nlohmann::ordered_json to_json(const grid& what);
/// What differs first between two grids as JSON, in words: "axis epsilon is 0.5,2 there and 2 here"; empty if nothing.
std::string first_difference(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here);

/// Makes `out` the directory of this grid (grid.json). Errors: bad_input where it holds another grid, naming the first
/// difference, one of an earlier layout, or anything else than a grid.
void claim_directory(const std::filesystem::path& out, const grid& what);

/// The configuration that the grid in `out` began with, or nothing. Errors: bad_input where it can't be read.
std::optional<nlohmann::ordered_json> read_base(const std::filesystem::path& out);

/// Which cells this invocation runs: of each axis named, the values named.
using selection = std::map<std::string, std::vector<std::string>>;
/// From "axis=v1,v2" texts. Errors: an axis or value that the grid does not have, an axis twice.
selection selection_from(const std::vector<std::string>& only, const std::vector<axis>& axes);
/// An axis that does not concern the cell does not exclude it.
bool selects(const selection& chosen, const cell& one);

// Common settings. What every cell of a grid sets besides its axes.

/// Evaluation units where the base names no number: equal for all, and quick.
inline constexpr int evaluation_records = 512;

/// The keys that equal_footing() always sets. On real data the split is the base's own: ε of several runs adds up only
/// where none shows a unit that another trains on (docs/privacy.md §7). Made-up records are nobody's, so there each
/// seed has a split of its own.
inline std::vector<std::string> footing_keys(bool made_up) {
    std::vector<std::string> out = {"seed", "monitor.address"};
    if (made_up) out.emplace_back("data.split_seed");
    return out;
}

/// Equal splits, initial adapters and evaluation subsets for cells of one seed; and no monitor, whose port only one
/// process can have.
inline std::vector<std::string> equal_footing(std::int64_t seed, bool made_up, const nlohmann::ordered_json& base) {
    std::vector<std::string> out;
    for (const auto& key : footing_keys(made_up))
        out.push_back(key == "monitor.address" ? key + "=null" : fmt::format("{}={}", key, seed));
    if (value_at(base, "train.eval_records").is_null())
        out.push_back(fmt::format("train.eval_records={}", evaluation_records));
    return out;
}

/// Those keys say nothing about the base.
inline void erase_footing(nlohmann::ordered_json& base, bool made_up) {
    for (const auto& key : footing_keys(made_up)) erase_key(base, key);
}

}  // namespace rldp::eval

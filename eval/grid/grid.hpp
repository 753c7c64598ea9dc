#pragma once
// A grid of runs: axes, cells, and the file that says which grid a directory holds. Pure but for that file.
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/grid/cell_split.hpp"

namespace rldp::eval {

struct axis {
    std::string name;
    std::vector<std::string> values;  ///< as JSON or plain words, each once
};

/// One run of the grid.
struct cell {
    std::string id;                         ///< a legible directory name, unique in the grid
    std::map<std::string, std::string> at;  ///< its value on the axes that concern it
    std::vector<std::string> overrides;     ///< "dotted.key=json" on the base configuration
    std::optional<data_split> split = {};   ///< as resolved; absent: its data are made up
};

struct grid {
    std::string kind;  ///< compare | sweep | protocol
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

/// Which cells this invocation runs: of each axis named, the values named.
using selection = std::map<std::string, std::vector<std::string>>;
/// From "axis=v1,v2" texts. Errors: an axis or value that the grid does not have, an axis twice.
selection selection_from(const std::vector<std::string>& only, const std::vector<axis>& axes);
/// An axis that does not concern the cell does not exclude it.
bool selects(const selection& chosen, const cell& one);

}  // namespace rldp::eval

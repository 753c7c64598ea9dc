#include "eval/grid/progress_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/base/files.hpp"

namespace rldp::eval {

progress_file::progress_file(const std::filesystem::path& out, const std::vector<cell>& cells)
    : path_(out / "progress.json") {
    for (const auto& one : cells) cells_.emplace_back(one.id, "waiting");
    write();
}

void progress_file::ends(const std::string& id, cell_state how) {
    set(id, how == cell_state::done || how == cell_state::failed ? name_of(how) : "interrupted");
}

void progress_file::set(const std::string& id, const std::string& state) {
    const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const auto& one) { return one.first == id; });
    if (found == cells_.end() || found->second == state) return;
    found->second = state;
    write();
}

void progress_file::write() const {
    auto cells = nlohmann::ordered_json::array();
    for (const auto& [id, state] : cells_) cells.push_back({{"id", id}, {"state", state}});
    write_file(path_, nlohmann::ordered_json{{"cells", cells}}.dump(1) + "\n");
}

}  // namespace rldp::eval

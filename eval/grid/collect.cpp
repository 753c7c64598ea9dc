#include "eval/grid/collect.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "config/base/directory.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/nascent_directory.hpp"
#include "eval/grid/cell_files.hpp"

namespace rldp::eval {

namespace {

namespace fs = std::filesystem;

void require_same_grid(const grid& what, const fs::path& from) {
    const auto file = grid_directory{from}.description();
    if (!fs::exists(file))
        refuse(fmt::format("--collect {}: holds no grid ({} is missing)", from.string(), file.string()));
    nlohmann::ordered_json there;
    try {
        there = nlohmann::ordered_json::parse(read_text(file));
        const auto own = to_json(what);
        if (there.value("layout", 1) != own.at("layout"))
            refuse(fmt::format("--collect {}: is of another version of rldp", from.string()));
        const auto difference = first_difference(there, own);
        if (!difference.empty()) refuse(fmt::format("--collect {}: is of another grid: {}", from.string(), difference));
    } catch (const nlohmann::json::exception&) {
        refuse(fmt::format("--collect {}: {} describes no grid", from.string(), file.string()));
    }
}

/// Of all cells that were ever started there: those that failed early have no directory.
std::set<std::string> ids_in(const fs::path& from) {
    std::set<std::string> out;
    for (const auto& entry : list_entries(grid_directory{from}.cells())) out.insert(entry.path().filename().string());
    constexpr std::string_view ending = ".time.json";
    if (!fs::exists(grid_directory{from}.trusted_cells())) return out;
    for (const auto& entry : list_entries(grid_directory{from}.trusted_cells()))
        if (const auto name = entry.path().filename().string(); name.ends_with(ending))
            out.insert(name.substr(0, name.size() - ending.size()));
    return out;
}

}  // namespace

std::size_t collect(const fs::path& out, const grid& what, const fs::path& from) {
    require_same_grid(what, from);
    std::size_t came = 0;
    const auto copy = [](const fs::path& source, const fs::path& to) {
        if (fs::exists(source)) fs::copy_file(source, to, fs::copy_options::overwrite_existing);
    };
    for (const auto& id : ids_in(from)) {
        const cell_files there{from, id}, here{out, id};
        const auto theirs = read_result(there).state, present = read_result(here).state;
        const bool ended = theirs == cell_state::done || theirs == cell_state::failed;
        if (!ended || present == cell_state::done) continue;
        if (theirs == cell_state::failed && present != cell_state::not_run) continue;
        if (fs::exists(here.run().ledger()))
            refuse(
                fmt::format("--collect {}: cell {} is done there, but was begun here too, and what {} spent is spent; "
                            "finish it here, or move that directory away",
                            from.string(), id, here.run().root.string()));
        copy(there.history(), here.history());
        copy(there.log(), here.log());
        if (theirs == cell_state::done) copy(there.output(), here.output());
        if (fs::exists(there.run().ledger())) {
            fs::remove_all(here.run().root);  // the beginnings of a run without a ledger: nothing was spent
            staged_directory whole(here.run().root);
            // Without the trusted side: nobody goes on with a run in two places.
            fs::copy(there.run().public_side(), run_directory{whole.path()}.public_side(), fs::copy_options::recursive);
            whole.settle();  // last: a cell that is there has all that belongs to it
        }
        came += theirs == cell_state::done ? 1 : 0;
    }
    return came;
}

}  // namespace rldp::eval

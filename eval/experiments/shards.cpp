#include <fmt/format.h>

#include <charconv>
#include <set>
#include <string>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/shards.hpp"

namespace rldp::eval {

shard shard_from(const std::string& text) {
    shard out;
    const auto slash = text.find('/');
    const auto number = [&](std::size_t begin, std::size_t end, std::size_t& into) {
        const auto [stop, wrong] = std::from_chars(text.data() + begin, text.data() + end, into);
        return wrong == std::errc{} && stop == text.data() + end;
    };
    if (slash == std::string::npos || !number(0, slash, out.part) || !number(slash + 1, text.size(), out.of) ||
        out.part < 1 || out.part > out.of)
        refuse(fmt::format("--shard {}: not of the form i/n with i from 1 to n", text));
    return out;
}

std::vector<cell> take_shard(const std::vector<cell>& cells, const shard& which) {
    std::vector<cell> out;
    for (const auto& one : cells)
        if (one.number % which.of == which.part - 1) out.push_back(one);
    return out;
}

namespace {

namespace fs = std::filesystem;

void require_same_grid(const grid& what, const fs::path& from) {
    const auto description = grid_directory{from}.description();
    if (!fs::exists(description))
        refuse(fmt::format("--collect {}: holds no grid ({} is missing)", from.string(), description.string()));
    nlohmann::ordered_json there;
    try {
        there = nlohmann::ordered_json::parse(read_text(description));
        const auto own = to_json(what);
        if (there.value("layout", 1) != own.at("layout"))
            refuse(fmt::format("--collect {}: is of another version of rldp", from.string()));
        const auto difference = first_difference(there, own);
        if (!difference.empty()) refuse(fmt::format("--collect {}: is of another grid: {}", from.string(), difference));
    } catch (const nlohmann::json::exception&) {
        refuse(fmt::format("--collect {}: {} describes no grid", from.string(), description.string()));
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

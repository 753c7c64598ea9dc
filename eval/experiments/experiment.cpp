#include "eval/experiments/experiment.hpp"

#include <algorithm>

#include "base/files.hpp"
#include "eval/experiments/owner_page.hpp"
#include "eval/experiments/progress.hpp"

namespace rldp::eval {

experiment_outcome run_experiment(const experiment& what, const experiment_settings& settings) {
    experiment_outcome out;
    const auto& place = settings.how.out;
    for (const auto& find_cells : what.stages) {
        const auto cells = find_cells(out.cells);
        auto own = take_shard(cells, settings.part);
        std::erase_if(own, [&](const auto& one) { return !selects(settings.chosen, one); });
        auto how = settings.how;
        how.audit = how.audit && std::none_of(cells.begin(), cells.end(), [](const auto& one) { return one.trial; });
        if (out.finished) out.finished = run_cells(own, how, progress_on_terminal(own.size(), place, settings.quiet));
        for (const auto& one : cells) out.cells.push_back({one, read_result({place, one.id})});
        out.own.insert(out.own.end(), own.begin(), own.end());
    }
    return out;
}

std::vector<measured> read_cells(const experiment& what, const std::filesystem::path& out) {
    std::vector<measured> all;
    for (const auto& find_cells : what.stages)
        for (const auto& one : find_cells(all)) all.push_back({one, read_result({out, one.id})});
    return all;
}

void write_owner_page(const std::filesystem::path& out, const std::vector<measured>& cells) {
    std::vector<cell> all;
    for (const auto& one : cells) all.push_back(one.where);
    write_owner_files(out, read_owned(out, all));
}

void write_files(const std::filesystem::path& out, const std::string& kind, const report_files& files,
                 const std::vector<measured>& cells) {
    write_file(out / (kind + ".json"), files.json);
    write_file(out / (kind + ".csv"), files.csv);
    write_file(out / (kind + ".html"), files.html);
    write_owner_page(out, cells);
}

}  // namespace rldp::eval

// rldp-research suite: arms on many beds, as a file that was written down beforehand says.
#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/research/suite/suite.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/plan.hpp"

namespace rldp::app {
namespace {

struct suite_options {
    grid_options how;
    std::string file;
    std::vector<std::string> beds;  ///< to run now; empty: all
};

/// So many runs share the bed's budget, whichever of its settings each has.
double find_epsilon_of_one(const eval::bed& which, const eval::arm& arm) try {
    auto set = which.set;
    set.insert(set.end(), arm.set.begin(), arm.set.end());
    set.push_back(fmt::format("privacy.runs={}", eval::count_runs(arm)));
    std::optional<double> out;
    for (const auto& setting : eval::list_settings(arm)) {
        auto tried = set;
        tried.insert(tried.end(), setting.begin(), setting.end());
        const auto config = eval::load_configuration(which.base, tried);
        const double worth = actors::compute_epsilon_of_one(config, actors::plan_without_reading(config));
        if (out && worth != *out)
            refuse(fmt::format("its trials cost differently: by itself {} is worth ε = {:.6g}, others {:.6g}",
                               fmt::join(setting, " "), worth, *out));
        out = worth;
    }
    return *out;
} catch (const error& reason) {
    throw error(reason.code(), fmt::format("bed {}, arm {}: {}", which.name, arm.name, reason.what()));
}

eval::bed_plan plan_bed(const eval::suite_part& part, const eval::bed& which) {
    std::map<std::string, double> worth;
    for (const auto& arm : part.arms)
        if (!arm.tuned.empty()) worth[arm.name] = find_epsilon_of_one(which, arm);
    return eval::plan_bed(part, which, std::move(worth), eval::make_resolver(which.base, which.set));
}

void refuse_unknown(const std::vector<std::string>& asked, const eval::suite& how) {
    for (const auto& name : asked)
        if (std::none_of(how.parts.begin(), how.parts.end(), [&](const auto& part) {
                return std::any_of(part.beds.begin(), part.beds.end(),
                                   [&](const auto& bed) { return bed.name == name; });
            }))
            refuse(fmt::format("--bed {}: the suite has no such bed", name));
}

bool asks_for(const std::vector<std::string>& beds, const std::string& name) {
    return beds.empty() || std::ranges::find(beds, name) != beds.end();
}

int run_suite(const suite_options& given) {
    const auto how = eval::read_suite(given.file);
    refuse_unknown(given.beds, how);
    std::vector<std::vector<eval::bed_plan>> plans;  // what would be refused after hours is refused now
    for (const auto& part : how.parts) {
        auto& all = plans.emplace_back();
        for (const auto& which : part.beds) all.push_back(plan_bed(part, which));
    }
    const auto out = find_directory(given.how, given.file, "suite");
    std::vector<std::string> command = {"suite", given.file};
    for (const auto& name : given.beds) command.insert(command.end(), {"--bed", name});
    const auto line = make_command_line(given.how, out, command);
    bool finished = true;
    std::size_t failed = 0;
    std::vector<eval::part_result> parts;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        std::vector<eval::bed_result> beds;
        for (const auto& plan : plans[i]) {
            const auto& name = plan.which.name;
            const auto place = out / name;
            const auto what = eval::make_experiment(plan);
            if (!finished || !asks_for(given.beds, name)) {
                beds.push_back(eval::judge_bed(plan, eval::read_cells(what, place)));
                continue;
            }
            auto own = given.how;
            own.config = plan.which.base.string();
            own.set = plan.which.set;
            for (auto& from : own.collect) from = (std::filesystem::path(from) / name).string();
            const auto came = carry_out(own, what, place);
            finished = came.finished;
            failed += count_failed(came, place);
            eval::write_owner_page(place, came.cells);
            beds.push_back(eval::judge_bed(plan, came.cells));
        }
        parts.push_back(eval::judge_part(how, how.parts[i], std::move(beds)));
    }
    const auto report = eval::make_report(how, std::move(parts), line);
    write_file(out / "suite.json", eval::suite_json(report));
    write_file(out / "suite.csv", eval::suite_csv(report));
    write_file(out / "suite.html", eval::suite_html(report));
    say_text(given.how.json ? eval::suite_json(report) : eval::suite_text(report));
    if (!given.how.json) say("{}\n", (out / "suite.html").string());
    return find_status(finished, failed, eval::grid_directory{out / "BED"}.owner_page(), line);
}

}  // namespace

void add_suite(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "suite");
    auto given = std::make_shared<suite_options>();
    command->add_option("suite", given->file, "arms, beds and seeds, written down beforehand (JSON)")->required();
    command->add_option("--bed", given->beds, "run only this bed now, repeatable")->allow_extra_args(false);
    add_grid_options(*command, given->how, "arm, seed, stage");
    command->footer("Example: rldp suite research/suite.json --jobs 2 --out runs/suite");
    command->callback([given, &chosen] { chosen = [given] { return run_suite(*given); }; });
}

}  // namespace rldp::app

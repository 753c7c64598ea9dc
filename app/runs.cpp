// rldp runs: what runs lie below a directory, as the dashboard knows them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "monitor/view/run_view.hpp"
#include "monitor/watch/catalog.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::app {

namespace {

struct runs_arguments {
    std::vector<std::string> directories = {"runs"};
    std::string tag;
    bool json = false;
};

std::string number(double x) {
    return std::isnan(x) ? "–" : std::isinf(x) ? "∞" : fmt::format("{:.4g}", x);
}

std::string epsilon(const monitor::run_view& run) {
    if (!run.contract) return "–";
    return run.contract->any ? number(run.contract->epsilon_guaranteed) : "none";
}

std::string perplexity(const monitor::run_view& run) {
    const auto last = number(run.value(eval::quantity::perplexity));
    return std::isnan(run.perplexity_before) ? last : number(run.perplexity_before) + " → " + last;
}

std::vector<std::string> row(const monitor::run_view& run) {
    std::vector<std::string> cells = {run.title.empty() ? run.name : fmt::format("{} ({})", run.title, run.name),
                                      run.state,
                                      fmt::format("{}/{}", run.step, run.steps),
                                      epsilon(run),
                                      perplexity(run),
                                      run.method.empty() ? "–" : run.method,
                                      run.data.empty() ? "–" : run.data,
                                      fmt::format("{}", fmt::join(run.tags, " "))};
    return cells;
}

bool has_tag(const monitor::run_view& run, const std::string& tag) {
    return tag.empty() || std::find(run.tags.begin(), run.tags.end(), tag) != run.tags.end();
}

int list(const runs_arguments& given) {
    monitor::catalog all({given.directories.begin(), given.directories.end()});
    all.refresh();
    std::vector<std::vector<std::string>> rows = {
        {"run", "state", "steps", "ε", "perplexity", "method", "data", "tags"}};
    auto out = nlohmann::json::array();
    for (const auto& one : all.runs()) {
        const auto& run = one->view();
        if (!has_tag(run, given.tag)) continue;
        if (given.json)
            out.push_back(nlohmann::json::parse(monitor::to_row(run)));
        else
            rows.push_back(row(run));
    }
    if (given.json)
        say_text(out.dump() + "\n");
    else if (rows.size() == 1)
        say("no run{} here; rldp run CONFIG makes one\n", given.tag.empty() ? "" : " with tag " + given.tag);
    else
        say_text(eval::text_table(rows));
    return 0;
}

}  // namespace

void add_runs(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("runs", "List runs with their state, ε and perplexity");
    auto given = std::make_shared<runs_arguments>();
    command->add_option("directories", given->directories, "runs, or folders that have some below them (default runs)");
    command->add_option("--tag", given->tag, "only those with this tag (run.tags)");
    command->add_flag("--json", given->json, "print as JSON: the rows of the dashboard's api/runs");
    command->footer("Example: rldp runs runs --tag pilot");
    command->callback([given, &chosen] { chosen = [given] { return list(*given); }; });
}

}  // namespace rldp::app

// rldp ledger verify: what an auditor runs on a run directory.
#include <fmt/format.h>

#include <filesystem>

#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "config/error.hpp"
#include "eval/json_number.hpp"
#include "eval/run_directory.hpp"
#include "privacy/release.hpp"
#include "privacy/verify.hpp"

namespace rldp::app {

namespace {

struct options {
    std::string directory;
    bool json = false;
};

/// How many releases the log still holds, each of them charged.
std::size_t check_releases(const std::filesystem::path& log, const privacy::ledger_content& content) {
    const auto releases = privacy::release_log::read(log);
    privacy::require_charged(releases, content, log);
    return releases.size();
}

int verify(const options& given) {
    namespace fs = std::filesystem;
    const eval::run_directory run{given.directory};
    const auto path = fs::is_directory(run.root) ? run.ledger() : fs::path(given.directory);
    const auto content = privacy::read_ledger(path);
    const auto verdict = privacy::verify(content);
    const auto log = run.releases();
    // Someone outside has only the public side.
    const bool has_log = path == run.ledger() && fs::exists(log);
    const auto releases = has_log ? check_releases(log, content) : 0;
    const auto& header = content.header;
    if (given.json) {
        nlohmann::ordered_json out{{"ledger", path.string()},
                                   {"charges", content.charges.size()},
                                   {"torn", content.torn},
                                   {"delta", header.delta},
                                   {"semantics", header.semantics},
                                   {"insecure_reproducible", header.insecure_reproducible},
                                   {"guaranteed_epsilon", eval::json_number(header.guaranteed_epsilon)},
                                   {"recomputed_epsilon", eval::json_number(verdict.guaranteed_epsilon)},
                                   {"progress_epsilon", eval::json_number(verdict.progress_epsilon)}};
        out["releases_checked"] = has_log ? nlohmann::ordered_json(releases) : nullptr;
        fmt::print("{}\n", out.dump());
        return 0;
    }
    fmt::print("{}: whole\n", path.string());
    fmt::print("  chain          {} charges, each hash that of its line, each line naming the one before\n",
               content.charges.size());
    fmt::print("  policy         {}: every charge is one that it grants\n", header.policy);
    fmt::print("  guaranteed ε   {} at δ = {:g}; recomputed from the header: {}\n", show(header.guaranteed_epsilon),
               header.delta, show(verdict.guaranteed_epsilon));
    fmt::print("  progress ε     {} so far; no guarantee\n", show(verdict.progress_epsilon));
    if (has_log) fmt::print("  releases       {} in the trusted log, each charged before\n", releases);
    if (content.torn)
        fmt::print("  torn           the last line has no end: it counts as one more charge at the least noise\n");
    if (header.insecure_reproducible)
        fmt::print("  NO GUARANTEE   draws and noise follow from a seed (insecure_reproducible)\n");
    if (header.semantics != "sound") fmt::print("  NO GUARANTEE   semantics {}\n", header.semantics);
    return 0;
}

}  // namespace

void add_ledger(CLI::App& program, action& chosen) {
    auto* ledger = program.add_subcommand("ledger", "Check what a run has charged");
    ledger->require_subcommand(1);
    auto* command =
        ledger->add_subcommand("verify", "Verify the hash chain, the policy, the guarantee and the releases of a run");
    auto given = std::make_shared<options>();
    command->add_option("run", given->directory, "run directory, or a ledger.jsonl alone")->required();
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp ledger verify runs/demo");
    command->callback([given, &chosen] { chosen = [given] { return verify(*given); }; });
}

}  // namespace rldp::app

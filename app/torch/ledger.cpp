// rldp ledger verify: what an auditor runs on a run directory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "app/commands.hpp"
#include "app/printing.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "eval/report/certificate.hpp"
#include "privacy/release.hpp"
#include "privacy/spending/verify.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::app {

namespace {

struct ledger_arguments {
    std::string directory;
    bool json = false;
};

/// How many releases the log still holds, each of them charged.
std::size_t check_releases(const eval::run_directory& run, const privacy::ledger_content& content) {
    // Their seals need no streams of this process's own.
    const privacy::file_seal seal(privacy::run_key::load_insecure(run.key()));
    return privacy::release_log::read(run.releases(), seal, content).size();
}

/// What a chain is worth, to be said wherever one is found whole.
const eval::finding chain_alone{
    "forgery",
    "whoever edits a ledger can recompute every hash, and cut its end; a signed certificate shows that (rldp verify)"};

eval::verified_ledger verify_at(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return eval::verify_run_ledger(eval::run_at(path));
    auto out = eval::verify_ledger(path);
    out.not_checked.push_back({"configuration", "and summary: give the run directory"});
    return out;
}

int verify(const ledger_arguments& given) {
    namespace fs = std::filesystem;
    const bool whole_run = fs::is_directory(given.directory);
    const auto run = whole_run ? eval::run_at(given.directory) : eval::run_directory{given.directory};
    const auto path = whole_run ? run.ledger() : fs::path(given.directory);
    auto [content, verdict, checked, not_checked] = verify_at(given.directory);
    // Someone outside has only the public side.
    std::error_code closed;
    const bool has_log = whole_run && fs::exists(run.releases(), closed) && fs::exists(run.key(), closed);
    const auto releases = has_log ? check_releases(run, content) : 0;
    if (has_log) checked.push_back({"releases", fmt::format("{} in the trusted log, each charged before", releases)});
    if (!has_log)
        not_checked.push_back({"releases", closed
                                               ? "trusted/ is its owner's alone (" + closed.message() + ")"
                                               : std::string("the trusted log is not here, or was erased at the end")});
    not_checked.push_back(chain_alone);
    const auto& header = content.header;
    if (given.json) {
        nlohmann::ordered_json out{{"ledger", path.string()},
                                   {"charges", content.charges.size()},
                                   {"torn", content.torn},
                                   {"delta", header.delta},
                                   {"semantics", name_of(header.semantics)},
                                   {"insecure_reproducible", header.insecure_reproducible},
                                   {"guaranteed_epsilon", eval::json_number(header.epsilon_guaranteed)},
                                   {"recomputed_epsilon", eval::json_number(verdict.epsilon_guaranteed)},
                                   {"progress_epsilon", eval::json_number(verdict.epsilon_spent)}};
        out["releases_checked"] = has_log ? nlohmann::ordered_json(releases) : nullptr;
        out["checked"] = to_json(checked);
        out["not_checked"] = to_json(not_checked);
        say("{}\n", out.dump());
        return 0;
    }
    say("{}: consistent\n", path.string());
    say("  guaranteed ε   {} at δ = {:g}; recomputed from the header: {}\n", show(header.epsilon_guaranteed),
        header.delta, show(verdict.epsilon_guaranteed));
    say("  progress ε     {} so far; no guarantee\n", show(verdict.epsilon_spent));
    if (content.torn)
        say("  torn           the last line has no end: it counts as one more charge at the least noise\n");
    for (const auto& why : header.guarantee().voids()) say("  NO GUARANTEE   {}\n", why);
    print_findings("checked", checked);
    print_findings("not checked", not_checked);
    return 0;
}

}  // namespace

void add_ledger(CLI::App& program, action& chosen) {
    auto* ledger = add_torch_command(program, "ledger");
    ledger->require_subcommand(1);
    auto* command =
        ledger->add_subcommand("verify", "Verify the hash chain, the policy, the guarantee and the releases of a run");
    auto given = std::make_shared<ledger_arguments>();
    command->add_option("run", given->directory, "run directory, or a ledger.jsonl alone")->required();
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp ledger verify runs/demo");
    command->callback([given, &chosen] { chosen = [given] { return verify(*given); }; });
}

}  // namespace rldp::app

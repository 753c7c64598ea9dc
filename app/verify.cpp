// rldp verify and rldp sign: a certificate, checked against everything at hand, and made anew.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "app/commands.hpp"
#include "app/printing.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/report/tuning.hpp"

namespace rldp::app {

namespace {

using json = nlohmann::ordered_json;

struct verify_arguments {
    std::string what, key;
    bool json = false;
};

void print(const eval::verification& result) {
    const auto& promised = result.found.promised;
    if (promised.holds())
        say("ε = {:.6g} at δ = {:g}{}, for {}, {} units\n", *promised.epsilon_guaranteed, promised.delta,
            promised.runs > 1 ? fmt::format(", for {} runs together", promised.runs) : "",
            promised.unit == "record" ? "each record" : "all records that share a value of " + promised.unit,
            promised.population);
    for (const auto& why : promised.voids) say("NO GUARANTEE: {}\n", why);
    print_findings("checked", result.checked);
    print_findings("not checked", result.not_checked);
}

void print_json(const eval::verification& result) {
    const auto& promised = result.found.promised;
    const json out{{"guarantee", promised.holds()},
                   {"no_guarantee_because", promised.voids},
                   {"epsilon", promised.epsilon_guaranteed ? json(*promised.epsilon_guaranteed) : json(nullptr)},
                   {"delta", promised.delta},
                   {"unit", promised.unit},
                   {"runs", promised.runs},
                   {"signed_by", result.found.signer ? json(result.found.signer->fingerprint()) : json(nullptr)},
                   {"checked", to_json(result.checked)},
                   {"not_checked", to_json(result.not_checked)}};
    say("{}\n", out.dump());
}

void print(const eval::verified_account& result) {
    const auto& header = result.account.header;
    const auto guarantee = header.guarantee();
    if (guarantee.holds())
        say("ε = {:.6g} at δ = {:g}, for {} runs together\n", header.epsilon_guaranteed, header.delta, header.runs);
    for (const auto& why : guarantee.voids()) say("NO GUARANTEE: {}\n", why);
    print_findings("checked", result.checked);
    print_findings("not checked", result.not_checked);
}

void print_json(const eval::verified_account& result) {
    const auto& header = result.account.header;
    const auto guarantee = header.guarantee();
    const json out{{"guarantee", guarantee.holds()},
                   {"no_guarantee_because", guarantee.voids()},
                   {"epsilon", guarantee.holds() ? json(header.epsilon_guaranteed) : json(nullptr)},
                   {"delta", header.delta},
                   {"unit", header.unit},
                   {"runs", header.runs},
                   {"runs_begun", result.account.runs.size()},
                   {"epsilon_spent", result.epsilon_spent},
                   {"checked", to_json(result.checked)},
                   {"not_checked", to_json(result.not_checked)}};
    say("{}\n", out.dump());
}

constexpr int not_genuine = 4;  ///< exit status, for pipelines that must tell a certificate from a slip of the pen

/// Whether a file can be a certificate at all.
bool holds_object(const std::filesystem::path& file) {
    try {
        return json::parse(read_file(file)).is_object();
    } catch (const std::exception&) {  // whatever it is, reading it as a certificate says so
        return false;
    }
}

int verify(const verify_arguments& given) {
    std::optional<privacy::verifying_key> owner;
    if (!given.key.empty()) owner = privacy::verifying_key::load(given.key);
    const std::filesystem::path what(given.what);
    const bool is_run = std::filesystem::is_directory(what), is_tuning = is_run && eval::holds_account(what);
    const bool is_there =
        is_tuning || (is_run ? std::filesystem::exists(eval::run_at(what).certificate()) : holds_object(what));
    try {
        if (is_tuning) {
            const auto all = eval::verify_account(what, owner);
            given.json ? print_json(all) : print(all);
            return 0;
        }
        const auto result =
            is_run ? eval::verify_run(eval::run_at(what), owner) : eval::verify_certificate(what, owner);
        given.json ? print_json(result) : print(result);
        return 0;
    } catch (const error& refused) {
        if (!is_there || refused.code() != errc::bad_input) throw;
        say(stderr, "rldp: {}\n", refused.what());
        return not_genuine;
    }
}

int sign(const verify_arguments& given) {
    const auto key = privacy::signing_key::load(given.key);
    const eval::run_directory run{given.what};
    // The certificate that a run got at its end vouches for files that the ledger does not, and that it has ended:
    // nothing is signed that it contradicts.
    eval::verify_run(run, std::nullopt);
    eval::certify_run(run, &key);
    say("{}: signed by key {}\n", run.certificate().string(), key.public_half().fingerprint());
    return 0;
}

}  // namespace

void add_verify(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("verify", "Check a certificate, and a run against it");
    auto given = std::make_shared<verify_arguments>();
    command
        ->add_option("what", given->what,
                     "run directory (holds public/), that of a tuning, or a certificate.json alone")
        ->required();
    command->add_option("--key", given->key, "public key of the owner who must have signed it");
    command->add_flag("--json", given->json, "print as JSON");
    command->footer(
        "Example: rldp verify runs/first --key owner.pub\nExit status: 0 all that could be checked holds, 4 "
        "something does not, 2 there is no certificate");
    command->callback([given, &chosen] { chosen = [given] { return verify(*given); }; });
}

void add_sign(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("sign", "Verify a run that has ended and sign its certificate");
    auto given = std::make_shared<verify_arguments>();
    command->add_option("run", given->what, "run directory")->required();
    command->add_option("--key", given->key, "secret key (rldp key new)")->required();
    command->footer("Example: rldp sign runs/first --key ~/keys/owner");
    command->callback([given, &chosen] { chosen = [given] { return sign(*given); }; });
}

}  // namespace rldp::app

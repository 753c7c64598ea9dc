#include "eval/report/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_names.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/system.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "privacy/keys/digest.hpp"
#include "run/artifacts/run_log.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {
namespace {

namespace fs = std::filesystem;

/// What a link leads to may be another file tomorrow, and lie on the trusted side today.
void refuse_link(const fs::path& path) {
    if (fs::is_symlink(fs::symlink_status(path)))
        refuse(path.string() + ": is a link; put the file itself there: public/ holds nothing but plain files");
}

/// SHA-256 of every public file but the certificate itself, by its path under public/.
std::map<std::string, std::string> digests(const run_directory& run) {
    std::map<std::string, std::string> out;
    for (const auto& entry : entries_below(run.public_side())) {
        refuse_link(entry.path());
        if (entry.is_directory() || entry.path() == run.certificate()) continue;
        if (!entry.is_regular_file()) refuse(entry.path().string() + ": is no plain file; public/ holds nothing else");
        out[entry.path().lexically_relative(run.public_side()).generic_string()] =
            privacy::sha256(read_file(entry.path()));
    }
    return out;
}

/// What the run's files amount to, unsigned, and without their digests.
privacy::certificate described(const run_directory& run, const privacy::ledger_content& ledger,
                               int version = privacy::certificate::current_version) {
    const auto config = config::load(run.config(), {});
    privacy::certificate out;
    out.version = version;
    out.promised = privacy::make_contract(ledger.header);
    out.promised.expected_batch_size = config::read_batch_size(config);
    if (config.privacy.unit_is_group) out.promised.max_records_per_unit = config.privacy.max_records_per_unit;
    out.promised.pad_batches = config.privacy.pad_batches;
    out.promised.population_declared = config.privacy.population.has_value();
    out.promised.steps_between_probes =
        config::steps_between_probes(config.device, config.privacy.semantics, out.promised.expected_batch_size);
    if (version >= 7) {
        if (out.promised.holds()) out.risk = privacy::state_risk(privacy::find_trade_off(ledger.header));
        out.data = without_directory(config.data.path);
        out.in_book = config.privacy.book.value_or(std::string(no_book)) != no_book;
    }
    out.run = config.run.name.value_or("");
    out.program = parse_summary(read_text(run.summary())).version;
    out.ledger_head = ledger.end().hash;
    return out;
}

/// One line for all files that are not those of the certificate.
void check_named_files(const std::map<std::string, std::string>& named, const std::map<std::string, std::string>& there,
                       const fs::path& certificate) {
    std::vector<std::string> wrong;
    for (const auto& [file, digest] : named) {
        const auto found = there.find(file);
        if (found == there.end())
            wrong.push_back(fmt::format("public/{} is missing", file));
        else if (found->second != digest)
            wrong.push_back(
                fmt::format("public/{} is another file than the one it names (SHA-256 {:.12}…, not {:.12}…)", file,
                            found->second, digest));
    }
    for (const auto& [file, digest] : there)
        if (!named.contains(file)) wrong.push_back(fmt::format("public/{} is not in it", file));
    if (wrong.empty()) return;
    const auto more = wrong.size() == 1 ? std::string() : fmt::format(", and {} more differ", wrong.size() - 1);
    refuse(fmt::format("{}: {}{}: a certificate of another run, or files changed since", certificate.string(),
                       wrong.front(), more));
}

void check_signer(const privacy::certificate& found, const fs::path& file,
                  const std::optional<privacy::verifying_key>& owner, verification& out) {
    if (owner && !found.signer)
        refuse(fmt::format("{}: is unsigned, and a signature of key {} was asked for", file.string(),
                           owner->fingerprint()));
    if (owner && *owner != *found.signer)
        refuse(fmt::format("{}: is signed by key {}, not by {}, the one given", file.string(),
                           found.signer->fingerprint(), owner->fingerprint()));
    if (!found.signer)
        out.not_checked.push_back({"signature",
                                   "unsigned: this detects accidents, not forgery; whoever changes all files "
                                   "can write a certificate that fits them"});
    else if (owner)
        out.checked.push_back({"signature", "of the key given, " + owner->fingerprint()});
    else
        out.not_checked.push_back(
            {"signer",
             fmt::format("the signature is whole, but whose is key {}? Give the owner's with --key; anyone can "
                         "sign with a key of their own",
                         found.signer->fingerprint())});
}

/// Whatever is at hand, this is not.
void add_beyond_files(const privacy::certificate& found, verification& out) {
    out.not_checked.insert(
        out.not_checked.end(),
        {{"data", "that the run read the records it should have; only the owner can say"},
         {"noise",
          "that it was drawn in secret and added as charged; the files hold what was charged, not what a machine "
          "did"},
         {"program", fmt::format("that it was RLDP {}, unchanged", found.program)},
         {"population", fmt::format("that N = {} may be public", found.promised.population)},
         {"other runs", "what else was released about the same data"}});
    if (found.promised.runs > 1)
        out.not_checked.push_back(
            {"account",
             fmt::format(
                 "of its tuning: that no more than {} runs share this promise; rldp verify the tuning's directory",
                 found.promised.runs)});
    if (found.version < 3 && found.promised.rounding_margin > 0)
        out.not_checked.push_back(
            {"rounding",
             fmt::format(
                 "that {:g} of a radius, which that version charged for it, was enough: at a high learning rate "
                 "it may not have been (SECURITY.md)",
                 found.promised.rounding_margin)});
}

verification opened(const fs::path& file, const std::optional<privacy::verifying_key>& owner) {
    verification out;
    out.found = privacy::parse_certificate(read_file(file), file.string());
    out.checked.push_back({"certificate", "whole and in canonical form"});
    check_signer(out.found, file, owner, out);
    return out;
}

/// Its numbers are another processor's: they are compared as such.
void check_attacks(const privacy::certificate& found, verification& out) {
    if (!found.risk) return;
    privacy::check_risk(*found.risk, found.promised);
    out.checked.push_back({"attackers", "what they can tell at best follows from its own numbers, too"});
}

void price_again(const privacy::certificate& found, const fs::path& file, verification& out) {
    const auto& promised = found.promised;
    if (!promised.holds()) return;
    try {
        const auto verdict = privacy::verify(promised);
        out.checked.push_back(
            {"arithmetic", fmt::format("its own numbers compose to ε {:.6g} at δ {:g}; it promises {:.6g}",
                                       verdict.epsilon_guaranteed, promised.delta, *promised.epsilon_guaranteed)});
        check_attacks(found, out);
    } catch (const error& wrong) {
        refuse(fmt::format("{}: {}", file.string(), wrong.what()));
    }
}

}  // namespace

void check_named_files(const run_directory& run) {
    const auto found = privacy::parse_certificate(read_file(run.certificate()), run.certificate().string());
    auto there = digests(run);
    std::erase_if(there, [&](const auto& file) { return !found.files.contains(file.first); });
    check_named_files(found.files, there, run.certificate());
}

verified_ledger verify_ledger(const fs::path& ledger) {
    verified_ledger out;
    out.ledger = privacy::read_ledger(ledger);
    out.verdict = privacy::verify(out.ledger);
    out.checked.push_back({"ledger", fmt::format("{} charges in an unbroken chain, each one that the {} policy grants",
                                                 out.ledger.charges.size(), out.ledger.header.policy)});
    if (out.ledger.header.guarantee().holds())
        out.checked.push_back(
            {"guarantee", fmt::format("the header's own numbers compose to ε {:.6g} at δ {:g}; it promises {:.6g}",
                                      out.verdict.epsilon_guaranteed, out.ledger.header.delta,
                                      out.ledger.header.epsilon_guaranteed)});
    if (const auto& header = out.ledger.header; header.guarantee().holds() && header.looks.count > 0)
        out.checked.push_back(
            {"looks",
             fmt::format("{} at held-out units at noise multiplier {:.6g} compose to ε {:.6g} at δ {:g}; {} made",
                         header.looks.count, header.looks.noise_multiplier, out.verdict.looks_epsilon, header.delta,
                         out.ledger.looks.size())});
    return out;
}

verified_ledger verify_run_ledger(const run_directory& run) {
    auto out = verify_ledger(run.ledger());
    const auto compare = [&](const fs::path& file, const char* subject, auto&& check) {
        if (fs::exists(file)) {
            check();
            out.checked.push_back({subject, "every number that it shares with the ledger is the same"});
        } else {
            out.not_checked.push_back({subject, "public/" + file.filename().string() + " is missing"});
        }
    };
    compare(run.config(), "configuration", [&] { check_configuration(run.config(), out.ledger); });
    compare(run.summary(), "summary", [&] { check_summary(parse_summary(read_text(run.summary())), out.ledger); });
    return out;
}

namespace {

/// Of a run that has ended: while it goes on, its log lags behind the ledger.
void check_run_log(const run_directory& run, verified_ledger& out) {
    const auto log = check_log(run.metrics(), out.ledger);
    out.checked.push_back(
        {"run log", fmt::format("a line for each of the {} steps charged, in order{}", log.steps,
                                log.unnamed == 0 ? ", that names the step's line of the ledger" : "")});
    if (log.unnamed > 0)
        out.not_checked.push_back(
            {"run log", fmt::format("whether {} of its lines, which name no line of the ledger as "
                                    "those of earlier versions, are of this run",
                                    log.unnamed)});
    if (!log.lost.empty())
        out.not_checked.push_back(
            {"lost lines", fmt::format("what the run log said of {}: lost while the run was interrupted, and empty",
                                       steps_in_words(log.lost))});
}

}  // namespace

verification verify_run(const run_directory& run, const std::optional<privacy::verifying_key>& owner) {
    if (!fs::exists(run.certificate()))
        refuse(fmt::format(
            "{0}: holds no public/certificate.json, which a run gets at its end; rldp run --resume {0} goes on "
            "with one that was cut, rldp ledger verify {0} checks a ledger without one",
            run.root.string()));
    auto out = opened(run.certificate(), owner);
    const auto files = digests(run);
    check_named_files(out.found.files, files, run.certificate());
    out.checked.push_back({"files", fmt::format("all {} under public/ are those that it names", files.size())});
    auto verified = verify_run_ledger(run);
    check_run_log(run, verified);
    out.checked.insert(out.checked.end(), verified.checked.begin(), verified.checked.end());
    out.not_checked.insert(out.not_checked.end(), verified.not_checked.begin(), verified.not_checked.end());

    auto expected = described(run, verified.ledger, out.found.version);
    expected.files = files;
    try {
        check_attacks(out.found, out);
    } catch (const error& wrong) {
        refuse(fmt::format("{}: {}", run.certificate().string(), wrong.what()));
    }
    expected.risk = out.found.risk;
    expected.signer = out.found.signer;
    expected.signature = out.found.signature;
    if (const auto where = privacy::first_difference(out.found, expected); !where.empty())
        refuse(fmt::format("{}: says something else than the run's own files: {}", run.certificate().string(), where));
    out.checked.push_back({"contract", "every word of the certificate follows from the run's files"});
    add_beyond_files(out.found, out);
    return out;
}

verification verify_certificate(const fs::path& file, const std::optional<privacy::verifying_key>& owner) {
    auto out = opened(file, owner);
    price_again(out.found, file, out);
    out.not_checked.push_back(
        {"files", "trained weights, ledger, configuration and the rest: give the run directory that holds public/"});
    add_beyond_files(out.found, out);
    return out;
}

namespace {

/// Writes the page; the certificate's text.
std::string certificate_text(const run_directory& run, const privacy::signing_key* by) {
    if (!fs::exists(run.summary()))
        refuse(
            fmt::format("{0}: holds no run that has ended (public/summary.json is missing); rldp run --resume {0} goes "
                        "on with one that was cut",
                        run.root.string()));
    auto verified = verify_run_ledger(run);
    if (verified.ledger.torn)
        refuse(run.ledger().string() + ": its last line has no end; rldp run --resume mends it, then sign");
    check_run_log(run, verified);
    auto made = described(run, verified.ledger);
    if (by) made.signer = by->public_half();
    write_file(run.certificate_page(), certificate_page(made));
    made.files = digests(run);
    if (by) privacy::sign(made, *by);
    return privacy::to_json(made);
}

void write_certificate(const run_directory& run, const std::string& text) {
    write_file(run.certificate(), text);
    // Signed later, they would be the only files of another day, and public/ with them.
    if (const auto& date = config::load(run.config(), {}).run.date)
        fixed_time::apply_to_all(run.public_side(), parse_date(*date));
}

}  // namespace

void certify_run(const run_directory& run, const privacy::signing_key* by) {
    write_certificate(run, certificate_text(run, by));
}

void prepare_certificate(const run_directory& run, const privacy::signing_key* by) {
    write_file(run.waiting_certificate(), certificate_text(run, by));
}

void publish_certificate(const run_directory& run) {
    write_certificate(run, read_file(run.waiting_certificate()));
    remove_file(run.waiting_certificate());
}

}  // namespace rldp::eval

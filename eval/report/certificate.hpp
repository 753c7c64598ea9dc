#pragma once
// A run's certificate, its page, and the numbers that must agree for it (docs/privacy.md §10).
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "privacy/spending/certificate.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

// Cross-check. Configuration, summary and ledger of a run tell the same story, or one of them was edited.

/// Of the configuration in that file: budget, δ, unit, split, semantics, policy, accountant, population, steps, B/N
/// and, for a deck, the cards that it makes and the order of its blocks. Errors: bad_input naming key and both values.
void check_configuration(const std::filesystem::path& file, const privacy::ledger_content& ledger);

/// What the summary repeats of the header; that a run called done has charged its last step; and, of a run that is
/// over, ε of the charges under every accountant. Errors: as above.
void check_summary(const run_summary& summary, const privacy::ledger_content& ledger);

// Page. public/certificate.html: one screen that a data protection officer understands without mathematics.

/// The page of a certificate, a function of its contract, run, program and signer alone: its own digest is part of the
/// certificate.
std::string certificate_page(const privacy::certificate& made);

// Certificate. Made from the run's own public files, and checked against them.

/// A check that was passed, or could not be made: its subject in a word, and a sentence.
struct finding {
    std::string subject, sentence;
};

struct verification {
    privacy::certificate found;
    std::vector<finding> checked, not_checked;
};

struct verified_ledger {
    privacy::ledger_content ledger;
    privacy::ledger_verdict verdict;
    std::vector<finding> checked, not_checked;
};

/// A ledger alone, priced again. Errors: bad_input as of read_ledger and verify.
verified_ledger verify_ledger(const std::filesystem::path& ledger);
/// The ledger of a run, compared with configuration and summary where they are there. Errors:
/// as above, and as of check_configuration and check_summary.
verified_ledger verify_run_ledger(const run_directory& run);

/// Everything that the public side allows to be checked. `owner`: whose signature is asked for. Errors: bad_input
/// naming what does not fit: the certificate, its signature or signer, a public file, or the run's own numbers.
verification verify_run(const run_directory& run, const std::optional<privacy::verifying_key>& owner);
/// The same with nothing but a certificate: signature and arithmetic.
verification verify_certificate(const std::filesystem::path& file, const std::optional<privacy::verifying_key>& owner);

/// That the files which its certificate names are those of the run; others may lie beside them. Errors: bad_input
/// naming one that is not, or the certificate where it is missing or damaged.
void check_named_files(const run_directory& run);

/// Writes public/certificate.html and public/certificate.json of a run that has stopped, signed where `by` is given.
/// Errors: bad_input where its books don't verify; then neither is written.
void certify_run(const run_directory& run, const privacy::signing_key* by);

/// The same of a run that ends: the certificate waits in trusted/ until the secrets are erased.
void prepare_certificate(const run_directory& run, const privacy::signing_key* by);
/// Puts it into public/, durably: the run is over.
void publish_certificate(const run_directory& run);

}  // namespace rldp::eval

#pragma once
// What a data owner hands on together with an adapter (docs/privacy.md §10): the contract, the SHA-256 of every public
// file, and a signature. No torch, no files: eval/report/certificate.hpp makes and checks it against a run.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/keys/signing_key.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/risk_statement.hpp"
#include "privacy/spending/verify.hpp"

namespace rldp::privacy {

/// What is promised, in public numbers: enough to price it again.
struct contract {
    std::optional<double> epsilon_guaranteed;  ///< absent: NO GUARANTEE
    std::optional<double> epsilon_budget;      ///< asked for; absent likewise: no ε is mistaken for one
    std::vector<std::string> voids;            ///< why nothing is guaranteed; empty where something is
    double delta = 0, padding_delta = 0, rounding_margin = 0;
    double sample_rate = 0;
    std::int64_t population = 0, expected_batch_size = 0, steps = 0;
    std::string unit;                                  ///< "record", or the column that groups share
    std::optional<std::int64_t> max_records_per_unit;  ///< group units only
    bool pad_batches = false;
    std::string policy, accountant, split;
    std::vector<card> deck;
    bool population_declared = false;         ///< else N is the number of training units
    publication held_out = publication::raw;  ///< before version 4: always
    look_plan looks = {};
    std::int64_t bands = 1;                 ///< of the noise; before version 5 always 1
    std::int64_t runs = 1;                  ///< that the promise is for together; before version 6 always 1
    std::int64_t steps_between_probes = 0;  ///< of rounding, on a device; 0: units are computed apart

    bool holds() const { return epsilon_guaranteed.has_value(); }
};

/// The ledger's part of the contract; expected_batch_size, max_records_per_unit, pad_batches, population_declared and
/// steps_between_probes are the configuration's.
contract make_contract(const ledger_header& header);

/// Whose privacy the contract promises, as the object of "protects".
std::string_view protected_by(const contract& promised);
/// The same of a run that publishes this of its held-out units.
std::string_view protected_by(publication held_out);

/// What the contract does not cover, in plain sentences. Meaningless where it guarantees nothing.
std::vector<std::string> list_exceptions(const contract& promised);

/// How N came about, in words.
std::string describe_population(const contract& promised);

struct certificate {
    static constexpr int current_version = 7, oldest_version = 2;
    int version = current_version;
    contract promised;
    std::optional<risk_statement> risk;        ///< absent where nothing is guaranteed, and before version 7
    std::string run;                           ///< run.name; empty: none
    std::string data;                          ///< last part of data.path; before version 7 empty
    bool in_book = false;                      ///< a budget book counts this run with others; before version 7 untold
    std::string program;                       ///< version of RLDP that made the run
    std::string ledger_head;                   ///< hash of the ledger's last line
    std::map<std::string, std::string> files;  ///< path under public/ -> SHA-256
    std::optional<verifying_key> signer;       ///< absent: unsigned
    std::string signature;                     ///< hex; over to_json() with "signature" null; empty where unsigned
};

/// Who vouches for it, in words: "signed by 0123 4567 …" or "unsigned: detects accidents, not forgery".
std::string authenticity(const certificate& given);

/// One line of canonical JSON (sorted keys, no spaces) and a newline, with the SHA-256 of itself without `hash` and
/// `signature`.
std::string to_json(const certificate& given);

/// Where the text of two certificates first differs, as "contract/epsilon: 8.0 here, 2.0 there"; empty where it
/// doesn't.
std::string first_difference(const certificate& here, const certificate& there);

void sign(certificate& made, const signing_key& by);

/// Reads exactly what to_json() writes. Errors: bad_input, one line that begins with `origin`, for anything else: an
/// edit, a damaged signature, numbers out of range.
certificate parse_certificate(std::string_view text, const std::string& origin);

/// Prices the contract again. Errors: bad_input where it promises less or clearly more ε than its numbers compose to.
/// Needs promised.holds().
ledger_verdict verify(const contract& promised);
/// The same of what it says of attackers. Needs promised.holds().
void check_risk(const risk_statement& claimed, const contract& promised);

}  // namespace rldp::privacy

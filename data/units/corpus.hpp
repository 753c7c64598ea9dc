#pragma once
// From a file to units on their sides: tables become narratives, units are split by keyed hash, canaries are planted.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/base/kinds.hpp"
#include "data/sources/records.hpp"

namespace rldp::data {

/// Of an audit's targets (choose_audit_pool) each is in a shadow run's training with probability ½, whichever side it
/// was on, independently of everything else; all other units stay where they are.
struct shadow_rule {
    std::int64_t targets = 0;  ///< members, and as many non-members
    std::int64_t number = 0;   ///< of the shadow run
};

struct split_rule {
    split_kind how = split_kind::hash;
    std::int64_t seed = 42;
    std::int64_t canaries = 0;
    std::int64_t canary_length = 10;  ///< characters of a secret, at most ten
    /// Of a group unit, the records of the smallest keyed hashes: the work per unit is bounded by a public number.
    std::int64_t max_records = 16;
    double attack = 0.2;  ///< share of units
    double eval = 0.1;    ///< share of what Attack leaves
    double train() const { return (1 - attack) * (1 - eval); }
    /// Training units, a public constant (privacy.population). Under `hash` a training unit carries a canary with
    /// probability canaries / population, so their number is random with mean `canaries`. Default: the train share of
    /// the units that are there, taken as public like the default N.
    std::optional<std::int64_t> population;
    std::optional<shadow_rule> shadow = {};
};

/// One privacy unit: a record, or all records that share the group key.
struct unit {
    std::uint64_t id;                   ///< keyed hash of the unit's identity (row key or content); no clear text
    std::vector<std::string> records;   ///< narratives, in the order of their own keyed hashes
    std::optional<std::string> canary;  ///< the planted secret, if it carries one
};

/// The units on their sides, each side in ascending order of id: nothing depends on the order of the rows.
struct corpus {
    std::vector<unit> train, eval, attack;
    std::vector<std::string>
        warnings;        ///< one line each, for the plan (a person key that repeats with record units, …)
    std::string digest;  ///< hex SHA-256 over the training units' bytes; trusted: goes out only as an HMAC
};

/// The format follows the file's name: .csv (needs a template), .jsonl or .ndjson, .txt. Errors: bad_input with file
/// and line (see read_csv, read_jsonl, read_template) and where the train side is empty or holds fewer units than
/// canaries.
corpus load_corpus(const source& from, const split_rule& split);

/// A unit after tokenisation: one sequence per record, each at most max_tokens long.
struct token_unit {
    std::vector<std::vector<std::int32_t>> records;
    /// The number of the made-up gradient that stands for this unit's (audit.gradient_canaries); then without records.
    std::optional<std::int64_t> gradient_canary = {};
};

struct tokenised {
    std::vector<token_unit> units;
    std::int64_t records = 0;
    std::int64_t cut = 0;  ///< records longer than max_tokens
};

using encoder = std::function<std::vector<std::int32_t>(const std::string&)>;

/// Encodes every record on `threads` threads; keeps the head or the tail of longer ones. `encode` must be safe to call
/// from several threads. A record of fewer than two tokens has nothing to predict and is left out; a unit of such
/// records alone stays, without any, and counts as zero: what a record holds must not make a run fail.
tokenised tokenise(const std::vector<unit>& units, const encoder& encode, std::int64_t max_tokens, bool keep_tail,
                   int threads);

}  // namespace rldp::data

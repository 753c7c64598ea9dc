#pragma once
// From a file to tokens on their sides, without ever holding the texts.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loading.hpp"
#include "base/unit_sketch.hpp"
#include "data/units/corpus.hpp"
#include "data/units/token_store.hpp"

namespace rldp::data {

struct token_rule {
    std::string identity = {};  ///< what the functions below do, where a corpus is kept (corpus_facts.hpp)
    encoder encode;             ///< safe to call from several threads
    std::int64_t max_tokens = 0;
    bool keep_tail = false;
    int threads = 1;
    /// Marks those of a record's tokens that carry a value, where somebody wants to know; safe to call from several
    /// threads.
    std::function<void(const record& rendered, std::vector<std::int32_t>& tokens)> mark = {};
    bool mark_training = false;                 ///< else held-out records alone
    std::optional<std::int64_t> held_out = {};  ///< about so many of the Eval side's units are kept; default all
    std::optional<std::int64_t> targets = {};   ///< an audit's, a side: texts of audited_units are kept; default none
    /// Called with every record's own text, by several threads; may throw.
    std::function<void(const record&)> inspect = [](const record&) {};
    on_loading tell = {};
};

/// A record that training never sees.
struct held_out_record {
    std::uint64_t unit = 0;  ///< its unit's hash, uniform: who is looked at lies below a threshold (looked_at)
    std::vector<std::int32_t> tokens;
    record rendered;
    bool cut = false;  ///< longer than max_tokens
};

/// How often a column tells what, clause by clause.
using clause_counts = std::unordered_map<std::string, std::int64_t>;

/// The Eval side. Whether a unit is kept follows from its own hash and public numbers: one more unit moves no other.
struct held_out_side {
    std::vector<held_out_record> records;  ///< those kept, of two tokens or more, a unit's one after the other
    double expected_units = 0;             ///< on this side, kept or not: from N and the shares, which are public
    std::vector<std::string> columns;      ///< of the table; none of text
    std::vector<clause_counts> values;     ///< of each column that is told, by its index: over all records, kept or not
};

/// Whom an audit looks at, with their texts as training sees them; in ascending order of id.
struct audited_units {
    std::vector<unit> carriers;     ///< training units with a planted secret, all of them
    std::vector<unit> members;      ///< the first training units without one, fewer where there are fewer
    std::vector<unit> non_members;  ///< the first Attack units
};

/// Units on their sides, each side in ascending order of id: nothing depends on the order of the rows.
struct token_corpus {
    token_store train;
    held_out_side held_out;
    std::int64_t records = 0, cut = 0;  ///< of the training units, see tokenised
    std::vector<std::pair<std::uint64_t, std::string>>
        planted;  ///< training units with a canary, by id, and its secret
    audited_units audited;
    std::vector<std::string> warnings;  ///< one line each, for the plan (a person key that repeats with record units)
    std::string digest;                 ///< hex SHA-256 over the training units' bytes; goes out only as an HMAC
    std::string split;                  ///< as enrolment's
    unit_sketches sketches;             ///< as enrolment's
    /// Of the training units, in their order: keyed hashes of their identities, no two alike.
    std::vector<std::uint64_t> train_ids;
};

/// How many units are expected on the Eval side beside N training units: a public number.
double expected_held_out(const split_rule& split, std::int64_t population);
/// The share of held-out units that are looked at where about `count` of `expected` shall be, and whether one is.
double share_of_held_out(std::int64_t count, double expected);
bool is_looked_at(std::uint64_t unit, double share);

/// Into memory. The format follows the file's name: .csv (needs a template), .jsonl or .ndjson, .txt. Errors: bad_input
/// with file and line (see read_csv, read_jsonl, read_template) and where the train side is empty or holds fewer units
/// than canaries; see tokenise.
token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how);
/// The training units' tokens go to `into`, and `train` stays empty.
token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how, token_sink& into);

}  // namespace rldp::data

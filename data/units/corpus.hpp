#pragma once
// Units of a file on their sides, as text and as tokens: their digest, their canaries, and who an audit looks at.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kinds.hpp"
#include "data/sources/records.hpp"

namespace rldp::data {

// Digest. What training units amount to, in 32 bytes.

using text_digest = std::array<unsigned char, 32>;

/// BLAKE2b of one record's text.
text_digest compute_digest(std::string_view text);

/// SHA-256 over units in their order: the number of each one's records, then the digests of their texts. Records can so
/// be digested in any order, by several threads.
class units_digest {
  public:
    units_digest();
    ~units_digest();
    units_digest(const units_digest&) = delete;
    units_digest& operator=(const units_digest&) = delete;

    void add_unit(std::size_t records);
    void add_record(const text_digest& text);
    /// In hex.
    std::string finish();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Units. Tables become narratives, units are split by keyed hash, canaries are planted.

/// Of an audit's targets (load_tokens.hpp) each is in a shadow run's training with probability ½, whichever side it
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

/// Where a unit's first record stands in its file: for its owner's eyes.
struct unit_place {
    std::size_t line = 0;
    std::string key, group;  ///< as record's; empty where there is none
};

/// One privacy unit: a record, or all records that share the group key.
struct unit {
    std::uint64_t id;                   ///< keyed hash of the unit's identity (row key or content); no clear text
    std::vector<std::string> records;   ///< narratives, in the order of their own keyed hashes
    std::optional<std::string> canary;  ///< the planted secret, if it carries one
    unit_place place = {};
};

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

// Cutting. Internal: how long records become short enough, for the two ways of tokenising.

/// Errors: bad_input where fewer than two tokens are to be kept, or there is no thread.
void check_cut(std::int64_t max_tokens, int threads);

/// Keeps the head or the tail; whether there was more.
bool cut_to(std::vector<std::int32_t>& tokens, std::int64_t max_tokens, bool keep_tail);

// Canaries and audits. Records that end in a secret, and who an audit looks at. Everything follows from the split's
// public seed and keyed hashes; only who was in training is secret.

/// The record with its secret, as training sees it, and the same up to where the secret begins.
std::string with_secret(const std::string& record, const std::string& secret);
std::string up_to_secret(const std::string& record);

/// Secrets of `length` characters of [A-Z0-9], independent and uniform; `kind` keeps lists apart.
std::vector<std::string> make_secrets(std::int64_t seed, std::string_view kind, std::int64_t count,
                                      std::int64_t length);

/// How many secrets of that length exist, 36^length, and all of them in order; length at most 10 and 4.
std::int64_t count_of_secrets(std::int64_t length);
std::vector<std::string> all_secrets(std::int64_t length);

/// An audit's canaries, which may or may not join the training units: records of nothing but a secret of ten
/// characters. `seed`: the split's; they depend on no record.
std::vector<unit> make_audit_canaries(std::int64_t seed, std::int64_t count);

/// Whether a target is in training in that shadow run: probability ½, independently of everything else.
bool in_shadow(std::int64_t seed, std::int64_t shadow, std::uint64_t target);

}  // namespace rldp::data

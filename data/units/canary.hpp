#pragma once
// Records that end in a secret, and who an audit looks at. Everything follows from the split's public seed and keyed
// hashes; only who was in training is secret.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/units/corpus.hpp"

namespace rldp::data {

/// The record with its secret, as training sees it, and the same up to where the secret begins.
std::string with_secret(const std::string& record, const std::string& secret);
std::string up_to_secret(const std::string& record);

/// Secrets of `length` characters of [A-Z0-9], independent and uniform; `kind` keeps lists apart.
std::vector<std::string> make_secrets(std::int64_t seed, std::string_view kind, std::int64_t count,
                                         std::int64_t length);

/// How many secrets of that length exist, 36^length, and all of them in order; length at most 10 and 4.
std::int64_t count_of_secrets(std::int64_t length);
std::vector<std::string> all_secrets(std::int64_t length);

struct audit_rule {
    std::int64_t seed = 0;      ///< the split's
    std::int64_t targets = 0;   ///< members, and as many non-members
    std::int64_t canaries = 0;  ///< m
};

/// Who membership is guessed of, and the canaries that may or may not join the training units.
struct audit_pool {
    std::vector<unit> members;      ///< training units without a planted secret
    std::vector<unit> non_members;  ///< Attack units
    std::vector<unit> canaries;     ///< records of nothing but a secret of ten characters
};

/// The first units of each side by keyed hash, fewer where there are fewer. Canaries depend on no record.
audit_pool choose_audit_pool(const corpus& from, const audit_rule& rule);

/// Whether a target is in training in that shadow run: probability ½, independently of everything else.
bool in_shadow(std::int64_t seed, std::int64_t shadow, std::uint64_t target);

}  // namespace rldp::data

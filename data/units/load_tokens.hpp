#pragma once
// From a file to tokens on their sides, without ever holding the texts.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/units/corpus.hpp"
#include "data/units/token_store.hpp"

namespace rldp::data {

struct token_rule {
    encoder encode;  ///< safe to call from several threads
    std::int64_t max_tokens = 0;
    bool keep_tail = false;
    int threads = 1;
    /// Called with every record's own text, by several threads; may throw.
    std::function<void(const std::string&)> inspect = [](const std::string&) {};
};

/// The same units in the same order as load_corpus() and tokenise() give, and the same digest.
struct token_corpus {
    token_store train, eval;
    std::int64_t records = 0, cut = 0;  ///< of the training units, see tokenised
    std::vector<std::pair<std::uint64_t, std::string>>
        planted;  ///< training units with a canary, by id, and its secret
    std::vector<std::string> warnings;
    std::string digest;
};

/// Errors: see load_corpus and tokenise.
token_corpus load_tokens(const source& from, const split_rule& split, const token_rule& how);

}  // namespace rldp::data

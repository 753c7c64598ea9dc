#pragma once
// What a token_corpus depends on, in words: two that say the same are the same.
#include <string>

#include "data/units/load_tokens.hpp"

namespace rldp::data {

/// JSON. Files count by name, size, inode and times, of content and of inode: one that was written to, exchanged or
/// touched is another. `how.identity` speaks for its functions.
std::string list_corpus_facts(const source& from, const split_rule& split, const token_rule& how);

/// A file's share of that; null where there is none.
std::string file_facts(const std::string& path);

}  // namespace rldp::data

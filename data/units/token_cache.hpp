#pragma once
// Token corpora that processes make once and share, and what each depends on.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/directories.hpp"
#include "data/units/corpus_file.hpp"
#include "data/units/load_tokens.hpp"

namespace rldp::data {

// Facts. What a token_corpus depends on, in words: two that say the same are the same.

/// JSON. Files count by name, size, inode and times, of content and of inode: one that was written to, exchanged or
/// touched is another. `how.identity` speaks for its functions.
std::string list_corpus_facts(const source& from, const split_rule& split, const token_rule& how);

/// A file's share of that; null where there is none.
std::string file_facts(const std::string& path);

// Cache. A private directory of corpus files, which processes make once and share: a key, a lock, and a file for
// everything that a corpus can depend on, under a keyed name.

class token_cache {
  public:
    /// In use by this process as long as this lives. Made with mode 0700 where it is missing. Errors: bad_input where
    /// others than its owner may enter it; storage_error.
    explicit token_cache(std::filesystem::path place);

    /// The corpus that depends on `facts` alone: as it lies here, or read now, once by all who ask at the same time.
    /// `single`: of corpora that depend on other facts none stays.
    token_corpus get(const std::string& facts, bool single, const std::function<token_corpus(token_sink&)>& read);
    /// To a place on the same file system where nothing is; what was opened stays open.
    void move_to(const std::filesystem::path& place);

    /// No longer in use by this process.
    void leave() { in_use_.reset(); }
    const std::filesystem::path& place() const { return place_; }

  private:
    std::filesystem::path place_;
    std::optional<directory_lock> in_use_;
};

/// Removes it, the key first and durably, for without it the rest can't be read; whether there was one.
bool erase_token_cache(const std::filesystem::path& place);

}  // namespace rldp::data

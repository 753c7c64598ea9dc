#pragma once
// Words already encoded, with their ids. Bounded, and without locks: threads look words up far more often than they add
// one. Internal to the tokenizers.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rldp::models {

class word_cache {
  public:
    word_cache();
    ~word_cache();
    word_cache(const word_cache&) = delete;
    word_cache& operator=(const word_cache&) = delete;

    /// Appends the ids of `word` to `out` if it is known. `hash` is that of the word.
    bool find(std::string_view word, std::size_t hash, std::vector<std::int32_t>& out) const;
    /// Remembers a word while there is room.
    void insert(std::string_view word, std::size_t hash, const std::vector<std::int32_t>& ids);

  private:
    struct entry;
    std::vector<std::atomic<const entry*>> slots_;  ///< a word lies at its hash or in the next free slot behind it
    std::atomic<std::size_t> words_{0};
};

}  // namespace rldp::models

#pragma once
// Byte-pair encoding of single words (Sennrich et al. 2016), as Hugging Face's tokenizers apply it, with a cache.
// Internal to the tokenizers.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rldp::models {

// Word cache. Words already encoded, with their ids. Bounded, and without locks: threads look words up far more often
// than they add one.

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

// Encoding. A word's pieces are merged by rank.

/// Lets maps of strings be searched by views.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using text_map = std::unordered_map<std::string, Value, text_hash, std::equal_to<>>;

struct bpe_options {
    bool byte_level = false;                   ///< pieces are bytes; else characters
    bool byte_fallback = false;                ///< an unknown character becomes its bytes, <0x00> to <0xFF>
    bool ignore_merges = false;                ///< a word that is a piece is that piece, whatever the merges say
    bool fuse_unknown = false;                 ///< neighbouring unknown characters share one unknown id
    std::optional<std::int32_t> unknown = {};  ///< without it, unknown characters vanish
};

/// Immutable but for its cache; safe to share between threads.
class bpe {
  public:
    /// Left and right piece and what they become, by id. The lowest rank goes first, and of equals the leftmost.
    struct merge {
        std::int32_t left, right, joined, rank;
    };
    bpe(text_map<std::int32_t> vocabulary, const std::vector<merge>& merges, bpe_options options);

    /// Appends the ids of `text`, which a pre-tokenizer has cut out (or the whole text, where there is none).
    void encode(std::string_view text, std::vector<std::int32_t>& out) const;

    /// Of a byte-level vocabulary: those of UTF-8 that are no piece, where nothing stands for the unknown.
    std::vector<std::uint8_t> lost_bytes() const;

  private:
    struct rule {
        std::int32_t rank, joined;
    };
    /// A merge that may be due. The queue's top is the lowest rank and, among equals, the leftmost.
    struct candidate {
        rule how;
        std::size_t left, right;         ///< positions
        std::int32_t left_id, right_id;  ///< as they were when it was found
        bool operator<(const candidate& o) const {
            return how.rank != o.how.rank ? how.rank > o.how.rank : left > o.left;
        }
    };
    void encode_word(std::string_view word, std::vector<std::int32_t>& out) const;
    void append_symbols(std::string_view word, std::vector<std::int32_t>& out) const;
    void append_unknown(std::string_view character, std::vector<std::int32_t>& out) const;
    void apply_merges(std::vector<std::int32_t>& symbols) const;
    const rule* find_rule(std::int32_t left, std::int32_t right) const;

    text_map<std::int32_t> vocabulary_;
    std::unordered_map<std::uint64_t, rule> rules_;
    std::array<std::int32_t, 256> bytes_{};  ///< id of each byte, -1 where there is none
    bpe_options options_;
    bool marks_begin_words_ = false;  ///< no merge joins anything to a following "▁": words are independent
    mutable word_cache cache_;
};

}  // namespace rldp::models

// Learns a byte-level BPE vocabulary (Sennrich et al. 2016, with GPT-2's bytes and split).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "models/tokenizer/text.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

namespace {

using id_pair = std::pair<std::int32_t, std::int32_t>;

struct word {
    std::vector<std::int32_t> symbols;
    std::int64_t count;
};

/// The words of the texts, in a fixed order. Symbol k is the byte byte_order()[k].
std::vector<word> count_words(const std::vector<std::string>& texts) {
    const regex split(gpt2_pattern, "GPT-2's pattern");
    std::map<std::string, std::int64_t> counts;
    for (const auto& text : texts) {
        const auto clean = to_utf8(text);
        for (const auto [begin, end] : split.matches(clean)) ++counts[clean.substr(begin, end - begin)];
    }
    std::array<std::int32_t, 256> id_of{};
    for (std::int32_t id = 0; id < 256; ++id) id_of[byte_order()[static_cast<std::size_t>(id)]] = id;
    std::vector<word> out;
    for (const auto& [text, count] : counts) {
        out.push_back({{}, count});
        for (const char byte : text) out.back().symbols.push_back(id_of[static_cast<std::uint8_t>(byte)]);
    }
    return out;
}

/// Counts of neighbouring pairs, kept up to date while words are merged.
class pair_table {
  public:
    explicit pair_table(std::vector<word> words) : words_(std::move(words)) {
        for (std::size_t i = 0; i < words_.size(); ++i) add(i, 1);
    }
    /// The commonest pair; among equals the one whose ids are lowest.
    std::optional<id_pair> best() const {
        std::optional<id_pair> found;
        std::int64_t most = 0;
        for (const auto& [pair, candidate] : pairs_) {
            if (candidate.count <= most) continue;
            most = candidate.count;
            found = pair;
        }
        return found;
    }
    void merge(id_pair pair, std::int32_t joined) {
        const auto touched = pairs_.at(pair).words;
        for (const auto index : touched) {
            add(index, -1);
            join(words_[index].symbols, pair, joined);
            add(index, 1);
        }
    }

  private:
    struct entry {
        std::int64_t count = 0;
        std::set<std::size_t> words;
    };
    /// Adds (sign 1) or takes away (-1) the pairs of one word.
    void add(std::size_t index, std::int64_t sign) {
        const auto& [symbols, count] = words_[index];
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const id_pair key{symbols[i], symbols[i + 1]};
            auto& at = pairs_[key];
            at.count += sign * count;
            sign > 0 ? void(at.words.insert(index)) : void(at.words.erase(index));
            if (at.count == 0) pairs_.erase(key);
        }
    }
    static void join(std::vector<std::int32_t>& symbols, id_pair pair, std::int32_t joined) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const bool hit = i + 1 < symbols.size() && id_pair{symbols[i], symbols[i + 1]} == pair;
            symbols[kept++] = hit ? joined : symbols[i];
            i += hit ? 1 : 0;
        }
        symbols.resize(kept);
    }

    std::vector<word> words_;
    std::map<id_pair, entry> pairs_;
};

}  // namespace

std::string train_byte_level_bpe(const std::vector<std::string>& texts, std::int64_t size) {
    constexpr std::string_view end_of_text = "<|endoftext|>";
    if (size < 257 || size > 1 << 16) refuse(fmt::format("vocabulary of {}: must be from 257 to {}", size, 1 << 16));
    std::vector<std::string> pieces;
    for (const auto byte : byte_order()) pieces.push_back(byte_alphabet()[byte]);
    nlohmann::ordered_json merges = nlohmann::ordered_json::array();
    pair_table pairs(count_words(texts));
    std::map<std::string, std::int32_t> id_of;
    for (std::size_t id = 0; id < pieces.size(); ++id) id_of[pieces[id]] = static_cast<std::int32_t>(id);
    while (static_cast<std::int64_t>(pieces.size()) < size - 1) {
        const auto best = pairs.best();
        if (!best) refuse(fmt::format("vocabulary of {}: the texts yield only {} tokens", size, pieces.size() + 1));
        const auto& left = pieces[static_cast<std::size_t>(best->first)];
        const auto& right = pieces[static_cast<std::size_t>(best->second)];
        merges.push_back(left + " " + right);
        // Two ways to the same piece (a+bc, ab+c) share its id.
        const auto [found, is_new] = id_of.try_emplace(left + right, static_cast<std::int32_t>(pieces.size()));
        if (is_new) pieces.push_back(found->first);
        pairs.merge(*best, found->second);
    }
    nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
    for (std::size_t id = 0; id < pieces.size(); ++id) vocab[pieces[id]] = id;
    vocab[std::string(end_of_text)] = pieces.size();
    const nlohmann::ordered_json byte_level = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    const nlohmann::ordered_json added = {{"id", size - 1},  {"content", end_of_text}, {"single_word", false},
                                          {"lstrip", false}, {"rstrip", false},        {"normalized", false},
                                          {"special", true}};
    const nlohmann::ordered_json model = {{"type", "BPE"},
                                          {"dropout", nullptr},
                                          {"unk_token", nullptr},
                                          {"continuing_subword_prefix", nullptr},
                                          {"end_of_word_suffix", nullptr},
                                          {"fuse_unk", false},
                                          {"byte_fallback", false},
                                          {"ignore_merges", false},
                                          {"vocab", vocab},
                                          {"merges", merges}};
    const nlohmann::ordered_json root = {{"version", "1.0"},
                                         {"truncation", nullptr},
                                         {"padding", nullptr},
                                         {"added_tokens", nlohmann::ordered_json::array({added})},
                                         {"normalizer", nullptr},
                                         {"pre_tokenizer", byte_level},
                                         {"post_processor", byte_level},
                                         {"decoder", byte_level},
                                         {"model", model}};
    return root.dump(1) + "\n";
}

}  // namespace rldp::models

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <string>

#include "models/tokenizer/bpe.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

constexpr std::size_t most_words = 1 << 16;  // some 10 MB
constexpr std::size_t slots = 2 * most_words;

}  // namespace

struct word_cache::entry {
    std::size_t hash;
    std::string word;
    std::vector<std::int32_t> ids;

    bool is(std::string_view other, std::size_t other_hash) const { return hash == other_hash && word == other; }
};

word_cache::word_cache() : slots_(slots) {}

word_cache::~word_cache() {
    for (const auto& slot : slots_) delete slot.load();
}

bool word_cache::find(std::string_view word, std::size_t hash, std::vector<std::int32_t>& out) const {
    for (auto at = hash % slots;; at = (at + 1) % slots) {
        const auto* found = slots_[at].load(std::memory_order_acquire);
        if (found == nullptr) return false;
        if (!found->is(word, hash)) continue;
        out.insert(out.end(), found->ids.begin(), found->ids.end());
        return true;
    }
}

void word_cache::insert(std::string_view word, std::size_t hash, const std::vector<std::int32_t>& ids) {
    // Half of the slots stay free, so that every search ends.
    if (words_.load(std::memory_order_relaxed) >= most_words || words_.fetch_add(1) >= most_words) return;
    auto made = std::make_unique<const entry>(entry{hash, std::string(word), ids});
    for (auto at = hash % slots;; at = (at + 1) % slots) {
        const entry* there = nullptr;
        if (slots_[at].compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) {
            made.release();
            return;
        }
        if (there->is(word, hash)) return;  // another thread was faster
    }
}

namespace {

constexpr std::size_t longest_cached_word = 96;  // bytes; longer ones seldom come again

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

/// Whether "▁" follows another character inside `piece`.
bool has_inner_mark(std::string_view piece) {
    for (auto at = piece.find(word_mark); at != std::string_view::npos; at = piece.find(word_mark, at + 1))
        if (at > 0 && !piece.substr(0, at).ends_with(word_mark)) return true;
    return false;
}

/// End of the word that begins at `begin`: the next "▁" after another character.
std::size_t word_end(std::string_view text, std::size_t begin) {
    auto at = begin;
    while (text.substr(at).starts_with(word_mark)) at += word_mark.size();
    return std::min(text.find(word_mark, at), text.size());
}

}  // namespace

bpe::bpe(text_map<std::int32_t> vocabulary, const std::vector<merge>& merges, bpe_options options)
    : vocabulary_(std::move(vocabulary)), options_(options) {
    rules_.reserve(merges.size());
    // A pair that is listed twice keeps its last rank, as in Hugging Face's map.
    for (const auto& [left, right, joined, rank] : merges)
        rules_.insert_or_assign(pair_key(left, right), rule{rank, joined});
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto name =
            options_.byte_level ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte);
        const auto found = vocabulary_.find(name);
        bytes_[byte] = found == vocabulary_.end() ? -1 : found->second;
    }
    std::unordered_map<std::int32_t, std::string_view> pieces;
    for (const auto& [piece, id] : vocabulary_) pieces[id] = piece;
    marks_begin_words_ =
        !options_.byte_level && !options_.ignore_merges && vocabulary_.contains(word_mark) &&
        std::none_of(merges.begin(), merges.end(), [&](const merge& m) { return has_inner_mark(pieces.at(m.joined)); });
}

std::vector<std::uint8_t> bpe::lost_bytes() const {
    std::vector<std::uint8_t> out;
    if (!options_.byte_level || options_.unknown) return out;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool in_utf8 = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
        if (in_utf8 && bytes_[byte] < 0) out.push_back(static_cast<std::uint8_t>(byte));
    }
    return out;
}

void bpe::encode(std::string_view text, std::vector<std::int32_t>& out) const {
    if (!marks_begin_words_) return encode_word(text, out);
    for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
        end = word_end(text, begin);
        encode_word(text.substr(begin, end - begin), out);
    }
}

void bpe::encode_word(std::string_view word, std::vector<std::int32_t>& out) const {
    const bool cached = word.size() <= longest_cached_word;
    const auto hash = cached ? text_hash{}(word) : 0;
    if (cached && cache_.find(word, hash, out)) return;
    std::vector<std::int32_t> symbols;
    if (const auto whole = options_.ignore_merges ? vocabulary_.find(word) : vocabulary_.end();
        whole != vocabulary_.end()) {
        symbols.push_back(whole->second);
    } else {
        append_symbols(word, symbols);
        apply_merges(symbols);
    }
    if (cached) cache_.insert(word, hash, symbols);
    out.insert(out.end(), symbols.begin(), symbols.end());
}

void bpe::append_symbols(std::string_view word, std::vector<std::int32_t>& out) const {
    bool after_unknown = false;
    for (std::size_t at = 0, length; at < word.size(); at += length) {
        length = options_.byte_level ? 1 : character_length(word, at);
        const auto character = word.substr(at, length);
        const auto found = vocabulary_.find(character);
        if (found != vocabulary_.end()) {
            out.push_back(found->second);
            after_unknown = false;
            continue;
        }
        const auto before = out.size();
        if (options_.byte_fallback) append_unknown(character, out);
        const bool spelled = out.size() > before;
        if (!spelled && options_.unknown && !(after_unknown && options_.fuse_unknown)) out.push_back(*options_.unknown);
        after_unknown = !spelled;
    }
}

void bpe::append_unknown(std::string_view character, std::vector<std::int32_t>& out) const {
    const auto id = [this](char byte) { return bytes_[static_cast<std::uint8_t>(byte)]; };
    if (std::any_of(character.begin(), character.end(), [&](char byte) { return id(byte) < 0; })) return;
    for (const char byte : character) out.push_back(id(byte));
}

const bpe::rule* bpe::find_rule(std::int32_t left, std::int32_t right) const {
    const auto found = rules_.find(pair_key(left, right));
    return found == rules_.end() ? nullptr : &found->second;
}

void bpe::apply_merges(std::vector<std::int32_t>& symbols) const {
    constexpr auto none = static_cast<std::size_t>(-1);
    constexpr std::int32_t gone = -1;
    const auto n = symbols.size();
    std::vector<std::size_t> previous(n), next(n);  // a linked list of the symbols that are left
    for (std::size_t i = 0; i < n; ++i) {
        previous[i] = i == 0 ? none : i - 1;
        next[i] = i + 1 == n ? none : i + 1;
    }
    std::priority_queue<candidate> queue;
    const auto consider = [&](std::size_t left, std::size_t right) {
        if (left == none || right == none) return;
        const auto* found = find_rule(symbols[left], symbols[right]);
        if (found != nullptr) queue.push({*found, left, right, symbols[left], symbols[right]});
    };
    for (std::size_t i = 0; i + 1 < n; ++i) consider(i, i + 1);
    while (!queue.empty()) {
        const auto best = queue.top();
        const auto [left, right] = std::pair(best.left, best.right);
        queue.pop();
        // Stale unless both symbols still are what they were, side by side.
        if (symbols[left] != best.left_id || next[left] != right || symbols[right] != best.right_id) continue;
        symbols[left] = best.how.joined;
        symbols[right] = gone;
        next[left] = next[right];
        if (next[left] != none) previous[next[left]] = left;
        consider(previous[left], left);
        consider(left, next[left]);
    }
    std::erase(symbols, gone);
}

}  // namespace rldp::models

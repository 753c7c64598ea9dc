// How sentencepiece's BPE models (Kudo and Richardson 2018) cut texts, and how transformers' LlamaTokenizer does.
#include "models/tokenizer/sentencepiece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "models/tokenizer/piece_table.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// Two pieces that are one together, by the characters that they share out.
struct joint {
    std::int32_t left, right, joined;
    std::size_t characters;  ///< of the left one
};

/// Of the pieces that `words` has, all ways to make one of two, by the id of what they make.
std::vector<joint> list_joints(const sentencepiece_model& model, const text_map<std::int32_t>& words) {
    std::vector<joint> out;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& text = model.pieces[id].text;
        if (const auto own = words.find(text); own == words.end() || own->second != static_cast<std::int32_t>(id))
            continue;
        std::size_t characters = 1;
        for (auto at = character_length(text, 0); at < text.size(); at += character_length(text, at), ++characters) {
            const auto left = words.find(std::string_view(text).substr(0, at));
            const auto right = words.find(std::string_view(text).substr(at));
            if (left != words.end() && right != words.end())
                out.push_back({left->second, right->second, static_cast<std::int32_t>(id), characters});
        }
    }
    return out;
}

/// Any two neighbours merge if together they are a piece; the highest score goes first, and of equals the leftmost.
std::vector<bpe::merge> merges_by_score(const sentencepiece_model& model, const text_map<std::int32_t>& words) {
    std::map<float, std::int32_t, std::greater<>> ranks;
    for (const auto& one : model.pieces) ranks[one.score];
    std::int32_t next = 0;
    for (auto& [score, rank] : ranks) rank = next++;
    std::vector<bpe::merge> out;
    for (const auto& [left, right, joined, characters] : list_joints(model, words)) {
        const auto& [text, score, type] = model.pieces[static_cast<std::size_t>(joined)];
        if (type == piece_type::normal) out.push_back({left, right, joined, ranks[score]});
    }
    return out;
}

/// As transformers' LlamaTokenizer makes them: by the id of what they make, then by the length of the left one.
std::vector<bpe::merge> merges_by_id(const sentencepiece_model& model, const text_map<std::int32_t>& words) {
    auto joints = list_joints(model, words);
    std::sort(joints.begin(), joints.end(), [](const joint& a, const joint& b) {
        return std::pair(a.joined, a.characters) < std::pair(b.joined, b.characters);
    });
    std::vector<bpe::merge> out;
    out.reserve(joints.size());
    for (const auto& [left, right, joined, characters] : joints)
        out.push_back({left, right, joined, static_cast<std::int32_t>(out.size())});
    return out;
}

/// Sentencepiece's own: pieces that are found in the text, or stand for nothing in it, merge with nothing.
std::shared_ptr<const bpe> make_merger(const sentencepiece_model& model) {
    bpe_options options;
    options.byte_fallback = model.byte_fallback;
    options.fuse_unknown = true;
    text_map<std::int32_t> words;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& [text, score, type] = model.pieces[id];
        if (type == piece_type::unknown) options.unknown = static_cast<std::int32_t>(id);
        if (type == piece_type::normal || type == piece_type::byte) words.emplace(text, static_cast<std::int32_t>(id));
    }
    return std::make_shared<const bpe>(words, merges_by_score(model, words), options);
}

/// Spaces as sentencepiece's normalizer treats them.
enum class dummy { never, unless_there, always };  ///< a blank in front

void mark_spaces(std::string& text, bool collapse, dummy prefix) {
    if (collapse) {
        text.erase(0, text.find_first_not_of(' '));
        text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                   text.end());
    }
    if (text.empty()) return;
    const bool begun = text.starts_with(' ') || text.starts_with(word_mark);
    if (prefix == dummy::always || (prefix == dummy::unless_there && !begun)) text.insert(0, 1, ' ');
    replace_all(text, " ", word_mark);
    while (collapse && text.ends_with(word_mark)) text.erase(text.size() - word_mark.size());
}

/// The beginning of the text loses the space of the dummy prefix, or all of its spaces.
void strip_start(std::vector<std::string>& tokens, bool all) {
    auto& text = tokens.front();
    const auto spaces = std::min(text.find_first_not_of(' '), text.size());
    text.erase(0, all ? spaces : std::min<std::size_t>(spaces, 1));
}

constexpr auto sentencepiece_stages = R"({"decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}})";

/// Texts are cut and put together as the file says.
void read_as_sentencepiece(const sentencepiece_model& model, const stated_settings& beside, pipeline_parts& parts) {
    if (!model.unsupported.empty()) refuse(model.unsupported);
    const auto stages = nlohmann::json::parse(sentencepiece_stages);
    read_stages(json_at(stages, "sentencepiece"), parts);
    parts.model = make_merger(model);
    // Where texts are cut at special tokens, `legacy` begins each part as a text of its own.
    const bool everywhere = beside.legacy.value_or(true);
    parts.normalizers.emplace_back([collapse = model.collapse_spaces, prefixed = model.dummy_prefix, everywhere](
                                       std::string& text, bool at_start) {
        mark_spaces(text, collapse,
                    !prefixed    ? dummy::never
                    : everywhere ? dummy::always
                    : at_start   ? dummy::unless_there
                                 : dummy::never);
    });
    if (model.dummy_prefix || model.collapse_spaces)
        parts.decoders.emplace_back([all = model.collapse_spaces](auto& tokens) { strip_start(tokens, all); });
}

constexpr auto llama_stages = R"({
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false},
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}})";

/// As transformers 5 makes a LlamaTokenizer: of the file only the pieces, and merges by their order.
void read_as_llama(const sentencepiece_model& model, const stated_settings& beside, pipeline_parts& parts) {
    auto stages = nlohmann::json::parse(llama_stages);
    if (!beside.add_prefix_space.value_or(true)) {
        stages["pre_tokenizer"]["prepend_scheme"] = "never";
        stages["decoder"]["decoders"].erase(3);
    } else if (beside.legacy.value_or(false)) {
        stages["pre_tokenizer"]["prepend_scheme"] = "always";
    }
    read_stages(json_at(stages, "LlamaTokenizer"), parts);
    text_map<std::int32_t> words;
    for (std::size_t id = 0; id < model.pieces.size(); ++id)
        words.emplace(model.pieces[id].text, static_cast<std::int32_t>(id));
    parts.model = std::make_shared<const bpe>(words, merges_by_id(model, words),
                                              bpe_options{.byte_fallback = true, .fuse_unknown = true});
}

/// Control pieces stand for themselves in a text, and so do those that its maker defined.
std::vector<stated_token> list_stated_tokens(const sentencepiece_model& model, bool with_defined) {
    std::vector<stated_token> out;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& [text, score, type] = model.pieces[id];
        const bool defined = type == piece_type::user_defined;
        if (type == piece_type::control || type == piece_type::unknown || (defined && with_defined))
            out.push_back({.content = text, .id = static_cast<std::int32_t>(id), .special = !defined});
    }
    return out;
}

}  // namespace

void check_piece(const piece& one, const std::string& where) {
    constexpr std::size_t longest = 8192;  // bytes; every way to cut it in two is looked at
    if (one.text.empty() || one.text.size() > longest || !is_utf8(one.text))
        refuse(fmt::format("{}: text must be UTF-8, and have a byte to {} of them", where, longest));
    if (!std::isfinite(one.score)) refuse(where + ": score must be finite");
}

pipeline_parts assemble_sentencepiece(const sentencepiece_model& model, bool llama, const std::string& file,
                                      const stated_settings& beside) {
    pipeline_parts parts;
    llama ? read_as_llama(model, beside, parts) : read_as_sentencepiece(model, beside, parts);
    piece_table table;
    for (const auto& piece : model.pieces)
        table.place(static_cast<std::int32_t>(table.pieces.size()), piece.text, file, model.pieces.size());
    add_tokens(list_stated_tokens(model, llama), beside, table, parts);
    add_tokens(beside.tokens, beside, table, parts);
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& [text, score, type] = model.pieces[id];
        const auto number = static_cast<std::int32_t>(id);
        if (type != piece_type::user_defined || parts.added.contains(number)) continue;
        parts.normalized.add(text, number);
        parts.added.emplace(number, stripped_sides{});
    }
    parts.pieces = table.pieces;
    auto ends = beside;
    if (!ends.bos) ends.bos = model.bos;
    if (!ends.eos) ends.eos = model.eos;
    // transformers 5 begins no text then. Models with such a file were trained with one.
    if (!beside.has_config) ends.add_bos = true;
    apply_ends(ends, table, parts);
    return parts;
}

}  // namespace rldp::models

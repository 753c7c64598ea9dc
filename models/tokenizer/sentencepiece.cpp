// tokenizer.model: sentencepiece's BPE models (Kudo and Richardson 2018), read from their protocol buffer.
// Not through libsentencepiece: the distributions' build exports a protobuf of its own, and LibTorch's crashes on it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/text.hpp"
#include "models/tokenizer/piece_table.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// A message of protocol buffers, field by field. Every read is checked against the message's end.
class proto_reader {
  public:
    proto_reader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

    struct field {
        std::uint64_t number, value;  ///< value of a varint, or the bits of a fixed field
        std::string_view bytes;       ///< of a string or nested message
    };
    /// Errors: bad_input where the message ends within a field.
    std::optional<field> next() {
        if (bytes_.empty()) return std::nullopt;
        const auto key = varint();
        field out{key >> 3, 0, {}};
        switch (key & 7) {
            case 0:
                out.value = varint();
                break;
            case 1:
                std::memcpy(&out.value, take(8).data(), 8);
                break;
            case 2:
                out.bytes = take(varint());
                break;
            case 5:
                std::memcpy(&out.value, take(4).data(), 4);
                break;
            default:
                damaged();
        }
        return out;
    }

  private:
    [[noreturn]] void damaged() const { refuse(where_ + ": not a sentencepiece model, or cut short"); }
    std::string_view take(std::uint64_t count) {
        if (count > bytes_.size()) damaged();
        const auto out = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return out;
    }
    std::uint64_t varint() {
        std::uint64_t out = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(take(1).front());
            out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return out;
        }
        damaged();
    }
    std::string_view bytes_;
    std::string where_;
};

/// SentencePiece.Type of sentencepiece_model.proto.
enum class piece_type : std::uint64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct piece {
    std::string text;
    float score = 0;
    piece_type type = piece_type::normal;
};

/// What is used of ModelProto, with that file's defaults.
struct sentencepiece_model {
    std::vector<piece> pieces;
    bool byte_fallback = false, dummy_prefix = true, collapse_spaces = true;
    std::string bos = "<s>", eos = "</s>";
    std::string unsupported = {};  ///< of what it says of texts: file, key and what
};

piece read_piece(proto_reader message, const std::string& where) {
    piece out;
    while (const auto field = message.next()) {
        if (field->number == 1) out.text = field->bytes;
        if (field->number == 2) std::memcpy(&out.score, &field->value, sizeof out.score);
        if (field->number == 3) out.type = static_cast<piece_type>(field->value);
    }
    constexpr std::size_t longest = 8192;  // bytes; every way to cut it in two is looked at
    if (out.text.empty() || out.text.size() > longest || !is_utf8(out.text))
        refuse(fmt::format("{}: text must be UTF-8, and have a byte to {} of them", where, longest));
    if (!std::isfinite(out.score)) refuse(where + ": score must be finite");
    if (out.type < piece_type::normal || out.type > piece_type::byte || out.type == piece_type::unused)
        refuse(fmt::format("{}: type {} is not supported", where, static_cast<std::uint64_t>(out.type)));
    return out;
}

void read_trainer(proto_reader message, const std::string& where, sentencepiece_model& out) {
    constexpr std::uint64_t bpe_model = 2;
    std::uint64_t kind = 1;  // unigram
    while (const auto field = message.next()) {
        if (field->number == 3) kind = field->value;
        if (field->number == 24 && field->value != 0)
            out.unsupported = where + ".treat_whitespace_as_suffix: is not supported";
        if (field->number == 35) out.byte_fallback = field->value != 0;
        if (field->number == 46) out.bos = field->bytes;
        if (field->number == 47) out.eos = field->bytes;
    }
    if (kind != bpe_model) refuse(where + ".model_type: only BPE models are supported");
}

void read_normalizer(proto_reader message, const std::string& where, sentencepiece_model& out) {
    while (const auto field = message.next()) {
        if (field->number == 2 && !field->bytes.empty())
            out.unsupported = where + ".precompiled_charsmap: only the identity normalization is supported";
        if (field->number == 3) out.dummy_prefix = field->value != 0;
        if (field->number == 4) out.collapse_spaces = field->value != 0;
        if (field->number == 5 && field->value == 0)
            out.unsupported = where + ".escape_whitespaces: only true is supported";
    }
}

/// Such a file has a line for every piece: its bytes in base64, and its id.
void refuse_tiktoken(std::string_view bytes, const std::string& name) {
    const auto line = bytes.substr(0, bytes.find('\n'));
    if (line.size() < 6 || line.size() == bytes.size() || !line.ends_with(" 0")) return;
    const auto base64 = line.substr(0, line.size() - 2);
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    if (base64.find_first_not_of(letters) == std::string_view::npos)
        refuse(name +
               ": a tiktoken vocabulary, which says nothing of how texts are cut; use the tokenizer.json that "
               "the model comes with");
}

sentencepiece_model read_model(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    const auto name = file.string();
    refuse_tiktoken(bytes, name);
    proto_reader message(bytes, name);
    sentencepiece_model out;
    bool trained = false;
    while (const auto field = message.next()) {
        if (field->number == 1) {
            const auto where = fmt::format("{}: pieces[{}]", name, out.pieces.size());
            out.pieces.push_back(read_piece({field->bytes, where}, where));
        } else if (field->number == 2) {
            trained = true;
            read_trainer({field->bytes, name}, name + ": trainer_spec", out);
        } else if (field->number == 3) {
            read_normalizer({field->bytes, name}, name + ": normalizer_spec", out);
        }
    }
    if (!trained || out.pieces.empty()) refuse(name + ": not a sentencepiece model: pieces or trainer_spec is missing");
    text_map<std::size_t> first;
    for (std::size_t id = 0; id < out.pieces.size(); ++id)
        if (const auto [other, is_new] = first.emplace(out.pieces[id].text, id); !is_new)
            refuse(fmt::format("{}: pieces[{}] has the text of pieces[{}]", name, id, other->second));
    return out;
}

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

pipeline_parts read_sentencepiece(const std::filesystem::path& directory, const stated_settings& beside) {
    const auto file = directory / "tokenizer.model";
    if (!beside.kind.empty() && beside.kind != "Llama" && beside.kind != "Gemma")
        refuse_unknown_class(directory, beside, "tokenizer.model");
    // Of other models, such as Mistral and Phi-3, transformers takes the class for what the file says itself.
    const bool llama = beside.kind == "Llama" && (beside.model_type.empty() || beside.model_type == "llama");
    const auto model = read_model(file);
    pipeline_parts parts;
    llama ? read_as_llama(model, beside, parts) : read_as_sentencepiece(model, beside, parts);
    piece_table table;
    for (const auto& piece : model.pieces)
        table.place(static_cast<std::int32_t>(table.pieces.size()), piece.text, file.string(), model.pieces.size());
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

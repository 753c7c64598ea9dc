// tokenizer.model: sentencepiece's BPE models (Kudo and Richardson 2018), read from their protocol buffer.
// Not through libsentencepiece: the distributions' build exports a protobuf of its own, and LibTorch's crashes on it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

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
};

piece read_piece(proto_reader message, const std::string& where) {
    piece out;
    while (const auto field = message.next()) {
        if (field->number == 1) out.text = field->bytes;
        if (field->number == 2) std::memcpy(&out.score, &field->value, sizeof out.score);
        if (field->number == 3) out.type = static_cast<piece_type>(field->value);
    }
    if (out.text.empty() || !is_utf8(out.text)) refuse(where + ": text must be UTF-8 and not empty");
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
        if (field->number == 24 && field->value != 0) refuse(where + ".treat_whitespace_as_suffix: is not supported");
        if (field->number == 35) out.byte_fallback = field->value != 0;
        if (field->number == 46) out.bos = field->bytes;
        if (field->number == 47) out.eos = field->bytes;
    }
    if (kind != bpe_model) refuse(where + ".model_type: only BPE models are supported");
}

void read_normalizer(proto_reader message, const std::string& where, sentencepiece_model& out) {
    while (const auto field = message.next()) {
        if (field->number == 2 && !field->bytes.empty())
            refuse(where + ".precompiled_charsmap: only the identity normalization is supported");
        if (field->number == 3) out.dummy_prefix = field->value != 0;
        if (field->number == 4) out.collapse_spaces = field->value != 0;
        if (field->number == 5 && field->value == 0) refuse(where + ".escape_whitespaces: only true is supported");
    }
}

sentencepiece_model read_model(const std::filesystem::path& file) {
    const auto bytes = read_file(file);
    const auto name = file.string();
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
    return out;
}

/// Any two neighbours merge if together they are a piece; the highest score goes first, and of equals the leftmost.
std::vector<bpe::merge> merges_of(const sentencepiece_model& model, const text_map<std::int32_t>& words) {
    std::map<float, std::int32_t, std::greater<>> ranks;
    for (const auto& one : model.pieces) ranks[one.score];
    std::int32_t next = 0;
    for (auto& [score, rank] : ranks) rank = next++;
    std::vector<bpe::merge> out;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& [text, score, type] = model.pieces[id];
        if (type != piece_type::normal) continue;
        for (auto at = character_length(text, 0); at < text.size(); at += character_length(text, at)) {
            const auto left = words.find(std::string_view(text).substr(0, at));
            const auto right = words.find(std::string_view(text).substr(at));
            if (left == words.end() || right == words.end()) continue;
            out.push_back({left->second, right->second, static_cast<std::int32_t>(id), ranks[score]});
        }
    }
    return out;
}

std::shared_ptr<const bpe> merger_of(const sentencepiece_model& model, const std::string& file) {
    bpe_options options;
    options.byte_fallback = model.byte_fallback;
    options.fuse_unknown = true;
    text_map<std::int32_t> words;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const auto& [text, score, type] = model.pieces[id];
        if (type == piece_type::unknown) options.unknown = static_cast<std::int32_t>(id);
        if (type != piece_type::normal && type != piece_type::byte) continue;
        const auto [first, is_new] = words.emplace(text, static_cast<std::int32_t>(id));
        if (!is_new) refuse(fmt::format("{}: pieces[{}] has the text of pieces[{}]", file, id, first->second));
    }
    return std::make_shared<const bpe>(words, merges_of(model, words), options);
}

/// Spaces as sentencepiece's normalizer treats them.
void mark_spaces(std::string& text, bool collapse, bool dummy_prefix) {
    if (collapse) {
        text.erase(0, text.find_first_not_of(' '));
        text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                   text.end());
    }
    if (text.empty()) return;
    if (dummy_prefix) text.insert(0, 1, ' ');
    replace_all(text, " ", word_mark);
    while (collapse && text.ends_with(word_mark)) text.erase(text.size() - word_mark.size());
}

/// The beginning of the text loses the space of the dummy prefix, or all of its spaces.
void strip_start(std::vector<std::string>& tokens, bool all) {
    auto& text = tokens.front();
    const auto spaces = std::min(text.find_first_not_of(' '), text.size());
    text.erase(0, all ? spaces : std::min<std::size_t>(spaces, 1));
}

}  // namespace

std::unique_ptr<const tokenizer> load_sentencepiece(const std::filesystem::path& directory) {
    const auto model = read_model(directory / "tokenizer.model");
    bool add_bos = true, add_eos = false;  // as LlamaTokenizer, unless its configuration says otherwise
    if (const auto file = directory / "tokenizer_config.json"; std::filesystem::exists(file)) {
        const auto json = read_json(file);
        const json_at settings(json, file.string());
        add_bos = settings.flag("add_bos_token", add_bos);
        add_eos = settings.flag("add_eos_token", add_eos);
    }
    pipeline_parts parts;
    for (std::size_t index = 0; index < model.pieces.size(); ++index) {
        const auto& [text, score, type] = model.pieces[index];
        const auto id = static_cast<std::int32_t>(index);
        parts.pieces.push_back(text);
        parts.special.push_back(type == piece_type::control || type == piece_type::unknown);
        if (parts.special.back() || type == piece_type::user_defined) parts.added.emplace(id, stripped_sides{});
        if (type == piece_type::user_defined) parts.normalized.add(text, id);
        if (type == piece_type::control && add_bos && text == model.bos) parts.prefix.push_back(id);
        if (type == piece_type::control && add_eos && text == model.eos) parts.suffix.push_back(id);
    }
    parts.model = merger_of(model, (directory / "tokenizer.model").string());
    parts.normalizers.emplace_back([collapse = model.collapse_spaces, dummy = model.dummy_prefix](std::string& text) {
        mark_spaces(text, collapse, dummy);
    });
    parts.decoders = sentencepiece_decoders();
    if (model.dummy_prefix || model.collapse_spaces)
        parts.decoders.emplace_back([all = model.collapse_spaces](auto& tokens) { strip_start(tokens, all); });
    return std::make_unique<pipeline_tokenizer>(std::move(parts));
}

}  // namespace rldp::models

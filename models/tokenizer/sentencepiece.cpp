// tokenizer.model: sentencepiece's BPE models (Kudo and Richardson 2018), read from their protocol buffer.
// Not through libsentencepiece: the distributions' build exports a protobuf of its own, and LibTorch's crashes on it.
#include <fmt/format.h>

#include <cstring>

#include "base/text.hpp"
#include "models/tokenizer/sentencepiece.hpp"

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

piece read_piece(proto_reader message, const std::string& where) {
    piece out;
    while (const auto field = message.next()) {
        if (field->number == 1) out.text = field->bytes;
        if (field->number == 2) std::memcpy(&out.score, &field->value, sizeof out.score);
        if (field->number == 3) out.type = static_cast<piece_type>(field->value);
    }
    check_piece(out, where);
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

}  // namespace

pipeline_parts read_sentencepiece(const std::filesystem::path& directory, const stated_settings& beside) {
    if (!beside.kind.empty() && beside.kind != "Llama" && beside.kind != "Gemma")
        refuse_unknown_class(directory, beside, "tokenizer.model");
    // Of other models, such as Mistral and Phi-3, transformers takes the class for what the file says itself.
    const bool llama = beside.kind == "Llama" && (beside.model_type.empty() || beside.model_type == "llama");
    const auto file = directory / "tokenizer.model";
    return assemble_sentencepiece(read_model(file), llama, file.string(), beside);
}

}  // namespace rldp::models

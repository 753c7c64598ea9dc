// The tokenizer in a GGUF file's metadata, tokenizer.ggml.*: byte-level BPE ("gpt2") and sentencepiece's BPE ("llama").
#include "models/gguf/gguf_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/tokenizer/piece_table.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/sentencepiece.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

const std::string prefix_of_keys = "tokenizer.ggml.";

/// How texts are cut, by tokenizer.ggml.pre, as the models' own tokenizer.json have it.
struct cutting {
    std::array<std::string_view, 3> names;
    bool ignores_merges, begins;  ///< begins: where add_bos_token is not said
    const char* stages;
};

constexpr std::array<cutting, 5> cuttings{
    {{{"gpt-2", "gpt2", ""},
      false,
      false,
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"}})"},
     {{"smollm", "starcoder", "codeshell"},
      false,
      false,
      R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false}]},
          "decoder": {"type": "ByteLevel"}})"},
     {{"llama-bpe", "llama3", "llama-v3"},
      true,
      true,
      R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
          "decoder": {"type": "ByteLevel"}})"},
     {{"qwen2", "deepseek-r1-qwen", ""},
      false,
      false,
      R"({"normalizer": {"type": "NFC"},
          "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
          "decoder": {"type": "ByteLevel"}})"},
     {{"tekken", "", ""},
      true,
      true,
      R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
              "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
          "decoder": {"type": "ByteLevel"}})"}}};

/// The vocabulary, whatever its kind, and what is said of its tokens.
class gguf_vocabulary {
  public:
    explicit gguf_vocabulary(const gguf_file& file)
        : file_(file), texts_(file.texts(key("tokens"))), types_(read_types()) {
        if (texts_.empty()) file_.refuse_key(key("tokens"), "is empty");
        const auto embedding = file_.tensors().find("token_embd.weight");
        if (embedding == file_.tensors().end()) return;
        if (const auto rows = embedding->second.shape.front(); static_cast<std::int64_t>(texts_.size()) > rows)
            file_.refuse_key(key("tokens"), fmt::format("has {} tokens, but tensor 'token_embd.weight' has {} rows",
                                                        texts_.size(), rows));
    }

    pipeline_parts read_byte_level() const {
        const auto& how = find_cutting();
        const auto stages = nlohmann::json::parse(how.stages);
        pipeline_parts parts;
        read_stages(json_at(stages, file_.origin()), parts);
        auto [table, words] = make_tables();
        parts.model = std::make_shared<const bpe>(words.vocabulary(true), read_merge_list(words),
                                                  bpe_options{.byte_level = true, .ignore_merges = how.ignores_merges});
        const auto ends = read_ends(how.begins);
        add_tokens(list_added(), ends, table, parts);
        parts.pieces = table.pieces;
        apply_ends(ends, table, parts);
        return parts;
    }

    pipeline_parts read_sentencepiece_like() const {
        if (const auto map = key("precompiled_charsmap"); file_.has(map) && file_.count(map) > 0)
            file_.refuse_key(map, "is there; only the identity normalization is supported");
        sentencepiece_model model;
        model.dummy_prefix = file_.boolean(key("add_space_prefix"), true);
        model.collapse_spaces = file_.boolean(key("remove_extra_whitespaces"), false);
        const auto scores = file_.numbers(key("scores"));
        if (scores.size() != texts_.size()) refuse_count("scores", scores.size());
        refuse_doubles(false);
        for (std::size_t id = 0; id < texts_.size(); ++id) {
            piece one{std::string(texts_[id]), scores[id], types_[id]};
            // The converter writes a defined token's blanks as blanks.
            if (one.type == piece_type::user_defined) replace_all(one.text, " ", word_mark);
            check_piece(one, where(id));
            model.byte_fallback = model.byte_fallback || one.type == piece_type::byte;
            model.pieces.push_back(std::move(one));
        }
        auto beside = read_ends(true);
        if (file_.text("general.architecture", "") == "phi3") beside.tokens = list_stripping();
        return assemble_sentencepiece(model, false, file_.origin(), beside);
    }

  private:
    static std::string key(const std::string& name) { return prefix_of_keys + name; }
    std::string where(std::size_t id) const { return fmt::format("{}: {}[{}]", file_.origin(), key("tokens"), id); }

    [[noreturn]] void refuse_count(const std::string& name, std::size_t count) const {
        file_.refuse_key(key(name), fmt::format("has {} values, but there are {} tokens", count, texts_.size()));
    }

    std::vector<piece_type> read_types() const {
        const auto name = key("token_type");
        if (!file_.has(name)) return std::vector<piece_type>(texts_.size(), piece_type::normal);
        std::vector<piece_type> out;
        for (const auto type : file_.integers(name)) {
            if (type < 1 || type > static_cast<std::int64_t>(piece_type::byte))
                file_.refuse_key(name, fmt::format("holds {}, which is no type of a token", type));
            out.push_back(static_cast<piece_type>(type));
        }
        if (out.size() != texts_.size()) refuse_count("token_type", out.size());
        return out;
    }

    const cutting& find_cutting() const {
        const auto name = key("pre");
        if (!file_.has(name))
            file_.refuse_key(name, "is missing: nothing says how texts are cut; convert the model anew with llama.cpp");
        const auto word = file_.text(name);
        std::string known;
        for (const auto& row : cuttings) {
            if (!word.empty() && std::find(row.names.begin(), row.names.end(), word) != row.names.end()) return row;
            known += (known.empty() ? "" : ", ") + std::string(row.names.front());
        }
        file_.refuse_key(
            name, fmt::format("is '{}'; {} are known: take the model as a directory of Hugging Face's", word, known));
    }

    void refuse_doubles(bool unused_too) const {
        text_map<std::size_t> first;
        for (std::size_t id = 0; id < texts_.size(); ++id) {
            if (types_[id] == piece_type::unused && !unused_too) continue;
            if (const auto [other, is_new] = first.emplace(texts_[id], id); !is_new)
                refuse(fmt::format("{} has the text of token {}", where(id), other->second));
        }
    }

    struct tables {
        piece_table all, words;  ///< words: what a text may become piece by piece
    };
    tables make_tables() const {
        refuse_doubles(true);
        tables out;
        for (std::size_t id = 0; id < texts_.size(); ++id) {
            const std::string text(texts_[id]);
            const auto number = static_cast<std::int32_t>(id);
            if (text.empty() || !is_utf8(text)) refuse(where(id) + ": text must be UTF-8, and not empty");
            out.all.place(number, text, where(id), texts_.size());
            if (types_[id] != piece_type::unused) out.words.place(number, text, where(id), texts_.size());
        }
        return out;
    }

    std::vector<bpe::merge> read_merge_list(const piece_table& words) const {
        const auto name = key("merges");
        std::vector<bpe::merge> out;
        for (const auto line : file_.texts(name)) {
            const auto at = [&] { return fmt::format("{}: {}[{}]", file_.origin(), name, out.size()); };
            const auto space = line.find(' ', 1);
            if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
                refuse(at() + ": must be two tokens with one space between them");
            words.add_merge(line.substr(0, space), line.substr(space + 1), at, out);
        }
        return out;
    }

    /// Tokens that are found in a text itself.
    std::vector<stated_token> list_added() const {
        std::vector<stated_token> out;
        for (std::size_t id = 0; id < texts_.size(); ++id) {
            const auto type = types_[id];
            const bool defined = type == piece_type::user_defined;
            if (type == piece_type::control || type == piece_type::unknown || defined)
                out.push_back({.content = std::string(texts_[id]),
                               .id = static_cast<std::int32_t>(id),
                               .special = !defined,
                               .where = where(id)});
        }
        return out;
    }

    /// Phi-3's take the white space behind them along, which the metadata don't say.
    std::vector<stated_token> list_stripping() const {
        auto out = list_added();
        for (auto& one : out)
            one.strips.right = one.content != "<unk>" && one.content != "<s>" && one.content != "<|endoftext|>";
        return out;
    }

    std::optional<std::string> token(const std::string& name) const {
        if (!file_.has(key(name))) return std::nullopt;
        const auto id = file_.integer(key(name), -1, std::int64_t{1} << 32);
        if (id < 0 || id == 0xffffffff) return std::nullopt;
        if (static_cast<std::size_t>(id) >= texts_.size())
            file_.refuse_key(key(name), fmt::format("is {}, but there are {} tokens", id, texts_.size()));
        return std::string(texts_[static_cast<std::size_t>(id)]);
    }

    stated_settings read_ends(bool begins) const {
        stated_settings out;
        out.has_config = true;
        out.bos = token("bos_token_id");
        out.eos = token("eos_token_id");
        out.add_bos = file_.boolean(key("add_bos_token"), begins);
        out.add_eos = file_.boolean(key("add_eos_token"), false);
        return out;
    }

    const gguf_file& file_;
    std::vector<std::string_view> texts_;
    std::vector<piece_type> types_;
};

}  // namespace

pipeline_parts read_gguf_tokenizer(const std::filesystem::path& path) {
    const gguf_file file(path);
    const auto name = prefix_of_keys + "model";
    const auto kind = file.text(name);
    if (kind == "gpt2") return gguf_vocabulary(file).read_byte_level();
    if (kind == "llama") return gguf_vocabulary(file).read_sentencepiece_like();
    file.refuse_key(name, fmt::format("is '{}'; vocabularies of kind gpt2 (byte-level BPE) and llama (sentencepiece's "
                                      "BPE) are read",
                                      kind));
}

}  // namespace rldp::models

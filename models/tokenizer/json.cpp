// Readers of tokenizer.json (Hugging Face's tokenizers) and of vocab.json with merges.txt (the original GPT-2).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

constexpr std::size_t most_template_ids = 64;

/// The vocabulary with its pieces by id and by text, as the file spells them.
class piece_table {
  public:
    explicit piece_table(const json_at& vocab) {
        if (!vocab.value().is_object() || vocab.value().empty())
            vocab.refuse_with("must be an object of tokens and their ids");
        for (const auto& [piece, id] : vocab.value().items()) {
            const json_at at(id, vocab.where(), "token " + nlohmann::json(piece).dump());
            const auto number = at.id();
            const auto index = static_cast<std::size_t>(number);
            if (index < pieces.size() && !pieces[index].empty()) at.refuse_with(fmt::format("id {} is taken", number));
            place(number, piece, at, vocab.value().size());
            ids.emplace(piece, number);
        }
    }
    /// Puts a piece at its id. Ids much larger than the number of pieces would only waste memory.
    void place(std::int32_t id, const std::string& piece, const json_at& at, std::size_t count) {
        const auto index = static_cast<std::size_t>(id);
        if (index > 2 * count + 1024)
            at.refuse_with(fmt::format("id {} is far beyond the vocabulary's {} tokens", id, count));
        if (index >= pieces.size()) pieces.resize(index + 1);
        pieces[index] = piece;
    }
    /// Errors: bad_input naming `where`.
    std::int32_t find(std::string_view piece, const std::function<std::string()>& where) const {
        const auto found = ids.find(piece);
        if (found == ids.end()) refuse(fmt::format("{}: \"{}\" is not in the vocabulary", where(), piece));
        return found->second;
    }
    /// Appends a merge of the next rank.
    void add_merge(std::string_view left, std::string_view right, const std::function<std::string()>& where,
                   std::vector<bpe::merge>& out) const {
        out.push_back({find(left, where), find(right, where), find(std::string(left) + std::string(right), where),
                       static_cast<std::int32_t>(out.size())});
    }
    /// The keys under which the model looks pieces up: bytes for a byte-level model.
    text_map<std::int32_t> vocabulary(bool byte_level) const {
        if (!byte_level) return ids;
        text_map<std::int32_t> out;
        for (const auto& [piece, id] : ids)
            if (const auto bytes = spelled_bytes(piece)) out.emplace(*bytes, id);
        return out;
    }

    std::vector<std::string> pieces;
    text_map<std::int32_t> ids;
};

/// A merge is ["a", "b"], in older files "a b".
void read_merge(const json_at& entry, const piece_table& table, std::vector<bpe::merge>& out) {
    const auto where = [&] { return entry.where(); };
    if (entry.value().is_array()) {
        const auto pair = entry.items();
        if (pair.size() != 2) entry.refuse_with("must be two tokens");
        return table.add_merge(pair[0].text(), pair[1].text(), where, out);
    }
    const auto text = entry.text();
    const auto space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
        entry.refuse_with("must be two tokens with one space between them");
    table.add_merge(std::string_view(text).substr(0, space), std::string_view(text).substr(space + 1), where, out);
}

/// Options that would change the ids and are not implemented must be off.
void refuse_unsupported(const json_at& model) {
    if (const auto type = model.find("type"); type && type->text() != "BPE")
        type->refuse_with(type->text() + " is not supported (BPE is)");
    if (const auto dropout = model.find("dropout"); dropout && dropout->value() != 0)
        dropout->refuse_with("merges left out at random are not supported; set it to null");
    for (const auto* name : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (const auto affix = model.find(name); affix && !affix->text().empty())
            affix->refuse_with("is not supported");
}

std::shared_ptr<const bpe> read_model(const json_at& model, const piece_table& table, bool byte_level) {
    bpe_options options;
    options.byte_level = byte_level;
    options.byte_fallback = model.flag("byte_fallback", false);
    options.ignore_merges = model.flag("ignore_merges", false);
    options.fuse_unknown = model.flag("fuse_unk", false);
    if (const auto unknown = model.find("unk_token"))
        options.unknown = table.find(unknown->text(), [&] { return unknown->where(); });
    std::vector<bpe::merge> merges;
    for (const auto& entry : model.at("merges").items()) read_merge(entry, table, merges);
    return std::make_shared<const bpe>(table.vocabulary(byte_level), merges, options);
}

void read_added_tokens(const json_at& root, piece_table& table, pipeline_parts& parts) {
    const auto section = root.find("added_tokens");
    if (!section) return;
    const auto entries = section->items();
    std::vector<std::int32_t> special;
    for (const auto& entry : entries) {
        if (entry.flag("single_word", false)) entry.at("single_word").refuse_with("is not supported; only false is");
        const stripped_sides strips{entry.flag("lstrip", false), entry.flag("rstrip", false)};
        auto content = entry.at("content").text();
        const auto id = entry.at("id").id();
        table.place(id, content, entry, table.ids.size() + entries.size());
        parts.added.emplace(id, strips);
        if (entry.flag("special", false)) special.push_back(id);
        if (!entry.flag("normalized", true)) {
            parts.raw.add(std::move(content), id, strips);
        } else {
            for (const auto& step : parts.normalizers) step(content);
            parts.normalized.add(std::move(content), id, strips);
        }
    }
    parts.special.resize(table.pieces.size());
    for (const auto id : special) parts.special[static_cast<std::size_t>(id)] = true;
}

/// The ids that TemplateProcessing puts before and after a single sequence.
void read_template(const json_at& section, pipeline_parts& parts) {
    bool inside = true;  // before the sequence
    for (const auto& entry : section.at("single").items()) {
        if (entry.find("Sequence")) {
            if (!inside) entry.refuse_with("the sequence may come only once");
            inside = false;
            continue;
        }
        const auto name = entry.at("SpecialToken").at("id").text();
        auto& side = inside ? parts.prefix : parts.suffix;
        for (const auto& id : section.at("special_tokens").at(name).at("ids").items()) {
            side.push_back(id.id());
            if (parts.prefix.size() + parts.suffix.size() > most_template_ids)
                section.at("single").refuse_with(fmt::format("adds more than {} tokens to a text", most_template_ids));
            if (static_cast<std::size_t>(side.back()) >= parts.pieces.size())
                id.refuse_with("is not an id of the vocabulary");
        }
    }
    if (inside) section.at("single").refuse_with("has no Sequence");
}

void read_post_processor(const json_at& section, pipeline_parts& parts) {
    const auto kind = section.at("type").text();
    if (kind == "Sequence") {
        for (const auto& part : section.at("processors").items()) read_post_processor(part, parts);
    } else if (kind == "TemplateProcessing") {
        if (!parts.prefix.empty() || !parts.suffix.empty()) section.refuse_with("a second template is not supported");
        read_template(section, parts);
    } else if (kind != "ByteLevel") {  // which only moves offsets
        section.at("type").refuse_with(kind + " is not supported (Sequence, TemplateProcessing and ByteLevel are)");
    }
}

}  // namespace

pipeline_parts read_tokenizer_json(const std::filesystem::path& file) {
    const auto json = read_json(file);
    const json_at root(json, file.string());
    pipeline_parts parts;
    if (const auto section = root.find("normalizer")) read_normalizer(*section, parts.normalizers);
    if (const auto section = root.find("pre_tokenizer")) read_pre_tokenizer(*section, parts.words);
    if (const auto section = root.find("decoder")) read_decoder(*section, parts.decoders);
    const auto model = root.at("model");
    refuse_unsupported(model);
    piece_table table(model.at("vocab"));
    parts.model = read_model(model, table, parts.words.byte_level);
    read_added_tokens(root, table, parts);
    parts.special.resize(table.pieces.size());
    parts.pieces = std::move(table.pieces);
    if (const auto section = root.find("post_processor")) read_post_processor(*section, parts);
    return parts;
}

pipeline_parts read_vocab_and_merges(const std::filesystem::path& vocab, const std::filesystem::path& merges) {
    const auto json = read_json(vocab);
    piece_table table(json_at(json, vocab.string()));
    std::vector<bpe::merge> rules;
    std::istringstream lines(read_file(merges));
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty() || line.starts_with("#version")) continue;
        const auto where = [&] { return fmt::format("{}:{}", merges.string(), number); };
        const auto space = line.find(' ');
        if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
            refuse(where() + ": must be two tokens with one space between them");
        table.add_merge(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1), where,
                        rules);
    }
    pipeline_parts parts;
    parts.words = gpt2_pre_tokenizer();
    parts.decoders.push_back(byte_level_decoder());
    parts.model = std::make_shared<const bpe>(table.vocabulary(true), rules, bpe_options{.byte_level = true});
    parts.special.resize(table.pieces.size());
    // transformers' GPT2Tokenizer finds its one special token in the text too.
    if (const auto end = table.ids.find("<|endoftext|>"); end != table.ids.end()) {
        parts.raw.add(end->first, end->second);
        parts.special[static_cast<std::size_t>(end->second)] = true;
        parts.added.emplace(end->second, stripped_sides{});
    }
    parts.pieces = std::move(table.pieces);
    return parts;
}

}  // namespace rldp::models

// The reader of tokenizer.json (Hugging Face's tokenizers).
#include <fmt/format.h>

#include <algorithm>

#include "models/tokenizer/piece_table.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

constexpr std::size_t most_template_ids = 64;

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

std::vector<stated_token> read_added_tokens(const json_at& root) {
    std::vector<stated_token> out;
    const auto section = root.find("added_tokens");
    if (!section) return out;
    for (const auto& entry : section->items()) {
        if (entry.flag("single_word", false)) entry.at("single_word").refuse_with("is not supported; only false is");
        out.push_back({.content = entry.at("content").text(),
                       .id = entry.at("id").id(),
                       .normalized = entry.flag("normalized", true),
                       .special = entry.flag("special", false),
                       .strips = {entry.flag("lstrip", false), entry.flag("rstrip", false)},
                       .where = entry.where()});
    }
    return out;
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

void read_stages(const json_at& root, pipeline_parts& parts) {
    if (const auto section = root.find("normalizer")) read_normalizer(*section, parts.normalizers);
    if (const auto section = root.find("pre_tokenizer")) read_pre_tokenizer(*section, parts.words);
    if (const auto section = root.find("decoder")) read_decoder(*section, parts.decoders);
}

pipeline_parts read_tokenizer_json(const std::filesystem::path& file, const stated_settings& beside) {
    const auto json = read_json(file);
    const json_at root(json, file.string());
    pipeline_parts parts;
    read_stages(root, parts);
    const auto model = root.at("model");
    refuse_unsupported(model);
    const auto added = read_added_tokens(root);
    piece_table table(model.at("vocab"), beyond_model(added, beside.rows));
    parts.model = read_model(model, table, parts.words.byte_level);
    add_tokens(added, beside, table, parts);
    add_tokens(beside.tokens, beside, table, parts);
    parts.pieces = table.pieces;
    // add_bos_token and add_eos_token count for nothing beside it, as in transformers 5.
    if (const auto section = root.find("post_processor")) read_post_processor(*section, parts);
    return parts;
}

}  // namespace rldp::models

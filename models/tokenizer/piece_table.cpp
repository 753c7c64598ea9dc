#include "models/tokenizer/piece_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rldp::models {

piece_table::piece_table(const json_at& vocab, const std::set<std::string>& without) {
    if (!vocab.value().is_object() || vocab.value().empty())
        vocab.refuse_with("must be an object of tokens and their ids");
    for (const auto& [piece, id] : vocab.value().items()) {
        if (without.contains(piece)) continue;
        const json_at at(id, vocab.where(), "token " + nlohmann::json(piece).dump());
        const auto number = at.id();
        const auto index = static_cast<std::size_t>(number);
        if (index < pieces.size() && !pieces[index].empty()) at.refuse_with(fmt::format("id {} is taken", number));
        place(number, piece, at.where(), vocab.value().size());
    }
}

void piece_table::place(std::int32_t id, const std::string& piece, const std::string& where, std::size_t count) {
    const auto index = static_cast<std::size_t>(id);
    if (index > 2 * count + 1024)
        refuse(fmt::format("{}: id {} is far beyond the vocabulary's {} tokens", where, id, count));
    if (index >= pieces.size()) pieces.resize(index + 1);
    if (const auto before = ids.find(pieces[index]); before != ids.end() && before->second == id) ids.erase(before);
    pieces[index] = piece;
    ids.insert_or_assign(piece, id);
}

std::int32_t piece_table::find(std::string_view piece, const std::function<std::string()>& where) const {
    const auto found = ids.find(piece);
    if (found == ids.end()) refuse(fmt::format("{}: \"{}\" is not in the vocabulary", where(), piece));
    return found->second;
}

void piece_table::add_merge(std::string_view left, std::string_view right, const std::function<std::string()>& where,
                            std::vector<bpe::merge>& out) const {
    out.push_back({find(left, where), find(right, where), find(std::string(left) + std::string(right), where),
                   static_cast<std::int32_t>(out.size())});
}

text_map<std::int32_t> piece_table::vocabulary(bool byte_level) const {
    if (!byte_level) return ids;
    text_map<std::int32_t> out;
    for (const auto& [piece, id] : ids)
        if (const auto bytes = spelled_bytes(piece)) out.emplace(*bytes, id);
    return out;
}

std::set<std::string> beyond_model(const std::vector<stated_token>& tokens, std::optional<std::int64_t> rows) {
    std::set<std::string> out;
    for (const auto& token : tokens)
        if (rows && token.id && *token.id >= *rows) out.insert(token.content);
    return out;
}

namespace {

/// Lets the token be found in texts, in the place of what was said of it before.
void let_match(const stated_token& token, std::int32_t id, const stated_settings& beside, pipeline_parts& parts) {
    auto normalized = token.content;
    bool at_start = false;
    for (const auto& step : parts.normalizers) step(normalized, at_start);
    parts.raw.remove(token.content);
    parts.normalized.remove(normalized);
    parts.added.insert_or_assign(id, token.strips);
    parts.special[static_cast<std::size_t>(id)] = token.special;
    if (token.special && beside.split_special) return;
    if (token.normalized)
        parts.normalized.add(std::move(normalized), id, token.strips);
    else
        parts.raw.add(token.content, id, token.strips);
}

}  // namespace

void add_tokens(const std::vector<stated_token>& tokens, const stated_settings& beside, piece_table& table,
                pipeline_parts& parts) {
    const auto count = table.ids.size() + tokens.size();
    for (const auto& token : tokens) {
        const auto there = table.ids.find(token.content);
        const auto is_added = [&](std::int32_t id) {
            return parts.added.contains(id) && table.pieces[static_cast<std::size_t>(id)] == token.content;
        };
        if (there != table.ids.end() && is_added(there->second)) {
            if (token.id) let_match(token, there->second, beside, parts);
            continue;
        }
        if (std::find(parts.unmatched.begin(), parts.unmatched.end(), token.content) != parts.unmatched.end()) continue;
        const auto next = static_cast<std::int32_t>(table.pieces.size());
        const auto id = token.id ? *token.id : there != table.ids.end() ? there->second : next;
        if (beside.rows && id >= *beside.rows) {
            parts.unmatched.push_back(token.content);
            continue;
        }
        if (parts.added.contains(id)) refuse(fmt::format("{}: id {} is another token's too", token.where, id));
        table.place(id, token.content, token.where, count);
        parts.special.resize(table.pieces.size());
        let_match(token, id, beside, parts);
    }
    parts.special.resize(table.pieces.size());
}

void apply_ends(const stated_settings& beside, const piece_table& table, pipeline_parts& parts) {
    if (!beside.add_bos && !beside.add_eos) return;
    const auto end = [&](std::optional<bool> wanted, const std::optional<std::string>& token) {
        std::vector<std::int32_t> out;
        if (!wanted.value_or(false) || !token) return out;
        if (const auto found = table.ids.find(*token); found != table.ids.end()) out.push_back(found->second);
        return out;
    };
    parts.prefix = end(beside.add_bos, beside.bos);
    parts.suffix = end(beside.add_eos, beside.eos);
}

}  // namespace rldp::models

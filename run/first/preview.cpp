#include "run/first/preview.hpp"

#include <algorithm>
#include <utility>

#include "data/sources/records.hpp"
#include "models/marked_token.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "models/weights.hpp"
#include "run/inputs.hpp"
#include "run/record_tokens.hpp"

namespace rldp::actors {

namespace {

constexpr std::size_t most_looked_at = 5000;

/// What remains of a text of which `max_tokens` tokens are kept; all of it where the tokenizer changed the text, for
/// then no byte says where a token begins.
text_range find_kept_range(const std::string& text, const std::vector<std::int32_t>& tokens,
                           const models::tokenizer& words, std::int64_t max_tokens, bool tail) {
    const auto ends = models::token_ends(words, text, tokens);
    const auto most = static_cast<std::size_t>(max_tokens);
    if (!ends || tokens.size() <= most) return {0, text.size()};
    if (tail) return {(*ends)[tokens.size() - most - 1], text.size()};
    return {0, (*ends)[most - 1]};
}

previewed_record shown(const data::record& rendered, const models::tokenizer& words, std::int64_t max_tokens,
                       bool tail) {
    previewed_record out;
    out.text = rendered.text;
    auto tokens = words.encode(rendered.text);
    out.tokens = std::ssize(tokens);
    out.cut = out.tokens > max_tokens;
    out.kept = find_kept_range(rendered.text, tokens, words, max_tokens, tail);
    mark_values(rendered, words, tokens);
    out.value_tokens = std::count_if(tokens.begin(), tokens.end(), models::is_marked);
    for (const auto& part : rendered.clauses)
        out.values.insert(out.values.end(), part.values.begin(), part.values.end());
    out.values.insert(out.values.end(), rendered.answers.begin(), rendered.answers.end());
    std::sort(out.values.begin(), out.values.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return out;
}

std::int64_t quantile(const std::vector<std::int64_t>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

std::int64_t longer_than(std::int64_t most, const std::vector<std::int64_t>& lengths) {
    return lengths.end() - std::upper_bound(lengths.begin(), lengths.end(), most);
}

preview make_preview(const config::reading_spec& spec, std::size_t count) {
    const auto model = models::read_model(spec.model.path);
    const auto words = load_tokenizer(spec, model);
    preview out;
    out.chat = spec.data.chat;
    out.max_tokens = token_limit(spec, model);
    auto& lengths = out.lengths;
    const auto from = private_source(spec);
    if (from.chat)
        if (auto endless = endless_answers(spec.model.path, *from.chat, *words))
            out.warnings.push_back(std::move(*endless));
    const auto stream = data::open_records(from);
    const auto most = std::max(most_looked_at, count);
    while (lengths.size() < most) {
        const auto block = stream->next();
        if (!block) break;
        for (std::size_t i = 0; i < block->size() && lengths.size() < most; ++i) {
            const auto rendered = block->at(i);
            if (out.records.size() < count) {
                out.records.push_back(shown(rendered, *words, out.max_tokens, spec.data.keep == kept_end::tail));
                lengths.push_back(out.records.back().tokens);
            } else {
                lengths.push_back(std::ssize(words->encode(rendered.text)));
            }
        }
    }
    if (lengths.empty()) refuse(spec.data.path + ": no records; give a file that has some");
    std::sort(lengths.begin(), lengths.end());
    out.looked_at = std::ssize(lengths);
    out.cut = longer_than(out.max_tokens, lengths);
    out.median_tokens = quantile(lengths, 0.5);
    out.p95_tokens = quantile(lengths, 0.95);
    out.most_tokens = lengths.back();
    return out;
}

}  // namespace rldp::actors

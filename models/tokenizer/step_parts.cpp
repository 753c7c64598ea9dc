#include "models/tokenizer/step_parts.hpp"

#include <algorithm>

#include "models/tokenizer/text.hpp"

namespace rldp::models {

void step_budget::take(const json_at& section, std::size_t growth) {
    constexpr std::size_t most_steps = 16, most_growth = 64;
    if (++steps_ > most_steps)
        section.refuse_with("is a step too many: " + std::to_string(most_steps) + " are the most");
    if (growth > most_growth / growth_)
        section.refuse_with("could make a text more than " + std::to_string(most_growth) + " times as long");
    growth_ *= growth;
}

pattern::pattern(const json_at& section) {
    const auto at = section.at("pattern");
    if (const auto expressed = at.find("Regex")) {
        expression_.emplace(expressed->text(), expressed->where());
    } else {
        text_ = at.at("String").text();
        if (text_.empty()) at.refuse_with("must not be empty");
    }
}

std::size_t pattern::growth(const std::string& with) const {
    const auto shortest = expression_ ? 1 : text_.size();
    return std::max<std::size_t>((with.size() + shortest - 1) / shortest, 1);
}

void pattern::replace(std::string& in, const std::string& with) const {
    if (expression_)
        in = expression_->replace(in, with);
    else
        replace_all(in, text_, with);
}

std::vector<text_range> pattern::matches(std::string_view in) const {
    if (expression_) return expression_->matches(in);
    std::vector<text_range> out;
    for (auto at = in.find(text_); at != std::string_view::npos; at = in.find(text_, at + text_.size()))
        out.push_back({at, at + text_.size()});
    return out;
}

replacing::replacing(const json_at& section, step_budget& budget) : from(section), to(section.at("content").text()) {
    budget.take(section, from.growth(to));
    // Whether a pattern is refused must not depend on a record, so it is asked here.
    for (const std::string_view text : {"", "a", " 1."})
        for (const auto& [begin, end] : from.matches(text))
            if (begin == end) section.at("pattern").refuse_with("matches an empty text, which can't be replaced");
}

prepend_when read_prepend_scheme(const json_at& section) {
    const auto scheme = section.find("prepend_scheme");
    if (!scheme) return section.flag("add_prefix_space", true) ? prepend_when::always : prepend_when::never;
    const auto name = scheme->text();
    if (name == "always") return prepend_when::always;
    if (name == "first") return prepend_when::first;
    if (name != "never") scheme->refuse_with("must be always, first or never");
    return prepend_when::never;
}

std::string read_mark(const json_at& section) {
    const auto found = section.find("replacement");
    auto text = found ? found->text() : std::string(word_mark);
    if (text.empty() || character_length(text, 0) != text.size()) found->refuse_with("must be one character");
    return text;
}

}  // namespace rldp::models

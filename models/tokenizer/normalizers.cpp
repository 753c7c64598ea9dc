#include <algorithm>
#include <array>
#include <optional>

#include "models/tokenizer/gpt2_words.hpp"
#include "models/tokenizer/step_parts.hpp"
#include "models/tokenizer/steps.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// Steps without settings. How much longer a text becomes is Unicode's (Standard Annex 15, table 10, for the forms).
struct named_step {
    std::string_view name;
    std::size_t growth;
    void (*change)(std::string& text);
};

template <unicode_form Form>
void change_form(std::string& text) {
    if (!is_ascii(text)) normalize(text, Form);
}

constexpr std::array<named_step, 6> named_steps{{
    {"NFC", 3, change_form<unicode_form::nfc>},
    {"NFD", 3, change_form<unicode_form::nfd>},
    {"NFKC", 11, change_form<unicode_form::nfkc>},
    {"NFKD", 11, change_form<unicode_form::nfkd>},
    {"Lowercase", 2, make_lower},
    {"StripAccents", 1, drop_marks},
}};

void read_normalizers(const json_at& section, step_budget& budget, std::vector<normalizer>& out) {
    const auto kind = section.at("type").text();
    const auto* named =
        std::find_if(named_steps.begin(), named_steps.end(), [&](const named_step& one) { return one.name == kind; });
    if (named != named_steps.end()) {
        budget.take(section, named->growth);
        out.emplace_back([change = named->change](std::string& text, bool) { change(text); });
    } else if (kind == "Sequence") {
        for (const auto& part : section.at("normalizers").items()) read_normalizers(part, budget, out);
    } else if (kind == "Prepend") {
        const auto with = section.at("prepend").text();
        budget.take(section, 1 + with.size());
        out.emplace_back([with](std::string& text, bool) {
            if (!text.empty()) text.insert(0, with);
        });
    } else if (kind == "Replace") {
        out.emplace_back([how = replacing(section, budget)](std::string& text, bool) { how(text); });
    } else if (kind == "Strip") {
        budget.take(section);
        const bool left = section.flag("strip_left", true), right = section.flag("strip_right", true);
        out.emplace_back([left, right](std::string& text, bool) {
            if (right) text.resize(text.size() - spaces_at_end(text));
            if (left) text.erase(0, spaces_at_start(text));
        });
    } else {
        section.at("type").refuse_with(
            kind +
            " is not supported (Sequence, Prepend, Replace, Strip, StripAccents, Lowercase, NFC, NFD, NFKC and "
            "NFKD are)");
    }
}

}  // namespace

void read_normalizer(const json_at& section, std::vector<normalizer>& out) {
    step_budget budget;
    read_normalizers(section, budget, out);
}

}  // namespace rldp::models

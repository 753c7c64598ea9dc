#include "data/grammar/language.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace rldp::data {

mark part::within(const mark& at, std::int64_t) const {
    return at;
}

language::language(std::vector<part_chain> forms) : forms_(std::move(forms)) {
    for (const auto& one : forms_) require(!one.empty(), "a form has no part");
}

void language::add(position one, places& out) const {
    const auto& parts = forms_[one.form];
    for (;;) {
        out.push_back(one);
        if (one.part + 1 == parts.size() || !parts[one.part]->ends(one.at)) return;
        ++one.part;
        one.at = parts[one.part]->begin();
    }
}

namespace {

places in_order(places all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace

places language::begin() const {
    places out;
    for (std::uint32_t f = 0; f < forms_.size(); ++f) add({f, 0, forms_[f].front()->begin()}, out);
    return in_order(std::move(out));
}

places language::next(const places& from, std::uint8_t byte) const {
    places out;
    for (const auto& one : from)
        if (const auto to = forms_[one.form][one.part]->next(one.at, byte)) add({one.form, one.part, *to}, out);
    return out.size() > 1 ? in_order(std::move(out)) : out;
}

places language::next(const places& from, std::string_view bytes) const {
    auto out = from;
    for (std::size_t i = 0; i < bytes.size() && !out.empty(); ++i) out = next(out, static_cast<std::uint8_t>(bytes[i]));
    return out;
}

bool language::ends(const places& from) const {
    return std::any_of(from.begin(), from.end(), [&](const auto& one) {
        const auto& parts = forms_[one.form];
        return one.part + 1 == parts.size() && parts.back()->ends(one.at);
    });
}

places language::within(const places& from, std::int64_t bytes) const {
    places out = from;
    for (auto& one : out) one.at = forms_[one.form][one.part]->within(one.at, bytes);
    return in_order(std::move(out));
}

}  // namespace rldp::data

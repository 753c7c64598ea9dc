#include "data/units/record_net.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rldp::data {

namespace {

/// NFKC, with case folded and what is not seen left out.
std::string folded(std::string_view text) {
    utf8proc_uint8_t* made = nullptr;
    const auto how = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                    UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &made, how);
    if (length == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
    require(length >= 0, "a record is not UTF-8");
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, std::free);
    return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

bool is_of_word(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z');
}

/// Runs of letters and digits.
std::vector<std::string> list_words(std::string_view text) {
    const auto plain = folded(text);
    std::vector<std::string> out;
    for (auto at = plain.begin(); (at = std::find_if(at, plain.end(), is_of_word)) != plain.end();) {
        const auto end = std::find_if_not(at, plain.end(), is_of_word);
        out.emplace_back(at, end);
        at = end;
    }
    return out;
}

std::uint64_t hash_words(const std::vector<std::string>& words, std::size_t first, std::size_t count, char kind) {
    std::string all(1, kind);
    for (auto i = first; i < first + count; ++i) all.append(words[i]).push_back(' ');
    return std::hash<std::string>{}(all);
}

std::string_view view_part(const record& rendered, const text_range& where) {
    return std::string_view(rendered.text).substr(where.begin, where.end - where.begin);
}

/// Hashes of a record as a whole and, into `passages`, of the passages that are its own.
std::vector<std::uint64_t> hash_record(const record& rendered, std::vector<std::uint64_t>& passages) {
    std::vector<std::uint64_t> out;
    const auto words = list_words(rendered.text);
    if (!words.empty()) out.push_back(hash_words(words, 0, words.size(), 't'));
    const auto add_passages = [&](const std::vector<std::string>& of) {
        for (std::size_t i = 0; i + record_net::passage <= of.size(); ++i)
            passages.push_back(hash_words(of, i, record_net::passage, 'p'));
    };
    // Conversations share what opens them (a system prompt): their own are the answers.
    for (const auto& answer : rendered.answers) add_passages(list_words(view_part(rendered, answer)));
    if (rendered.clauses.empty()) {
        if (rendered.answers.empty()) add_passages(words);
        return out;
    }
    std::vector<std::string> row;
    for (const auto& part : rendered.clauses)
        for (const auto& value : part.values) {
            const auto own = list_words(view_part(rendered, value));
            add_passages(own);
            row.insert(row.end(), own.begin(), own.end());
            row.emplace_back("|");  // no word: where a value ends is part of the row
        }
    if (!row.empty()) out.push_back(hash_words(row, 0, row.size(), 'r'));
    return out;
}

}  // namespace

void record_net::add(const record& rendered) {
    std::vector<std::uint64_t> passages;
    const auto wholes = hash_record(rendered, passages);
    wholes_.insert(wholes.begin(), wholes.end());
    passages_.insert(passages.begin(), passages.end());
}

bool record_net::holds(const record& rendered) const {
    std::vector<std::uint64_t> passages;
    const auto wholes = hash_record(rendered, passages);
    const auto among = [](const std::unordered_set<std::uint64_t>& all) {
        return [&all](std::uint64_t one) { return all.contains(one); };
    };
    return std::any_of(wholes.begin(), wholes.end(), among(wholes_)) ||
           std::any_of(passages.begin(), passages.end(), among(passages_));
}

}  // namespace rldp::data

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

bool continues(std::string_view text, std::size_t at, std::uint8_t low = 0x80, std::uint8_t high = 0xBF) {
    return at < text.size() && static_cast<std::uint8_t>(text[at]) >= low &&
           static_cast<std::uint8_t>(text[at]) <= high;
}

/// What stands at a position: a whole character, or the longest part of one that is no character (Unicode 15, table
/// 3-7).
struct unit {
    std::size_t length;
    bool valid;
};

unit read_unit(std::string_view text, std::size_t at) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    if (lead < 0x80) return {1, true};
    if (lead < 0xC2 || lead > 0xF4) return {1, false};
    const std::size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF.
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (!continues(text, at + 1, low, high)) return {1, false};
    for (std::size_t k = 2; k < wanted; ++k)
        if (!continues(text, at + k)) return {k, false};
    return {wanted, true};
}

/// Length of the leading part that is valid UTF-8.
std::size_t valid_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t eight = 0;
        if (text.size() - at >= sizeof eight) {
            std::memcpy(&eight, text.data() + at, sizeof eight);
            if ((eight & 0x8080808080808080U) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        const auto [length, valid] = read_unit(text, at);
        if (!valid) break;
        at += length;
    }
    return at;
}

void append(std::int32_t point, std::string& out) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto length = utf8proc_encode_char(point, bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

bool printable(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t at) {
    return read_unit(text, at).length;
}

std::string to_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    while (!bytes.empty()) {
        const auto good = valid_prefix(bytes);
        out += bytes.substr(0, good);
        bytes.remove_prefix(good);
        if (bytes.empty()) break;
        out += replacement_character;
        bytes.remove_prefix(read_unit(bytes, 0).length);
    }
    return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    if (from.empty() || text.find(from) == std::string::npos) return;
    std::string out;
    std::size_t at = 0;
    for (std::size_t hit; (hit = text.find(from, at)) != std::string::npos; at = hit + from.size())
        out.append(text, at, hit - at).append(to);
    out.append(text, at);
    text = std::move(out);
}

void normalize(std::string& text, unicode_form form) {
    const bool composed = form == unicode_form::nfc || form == unicode_form::nfkc;
    const bool compatible = form == unicode_form::nfkc || form == unicode_form::nfkd;
    int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (compatible) options |= UTF8PROC_COMPAT;
    utf8proc_uint8_t* changed = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &changed, static_cast<utf8proc_option_t>(options));
    if (length == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
    require(length >= 0, "text to be normalized is not UTF-8");
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(changed, std::free);
    text.assign(reinterpret_cast<const char*>(changed), static_cast<std::size_t>(length));
}

namespace {

/// Calls change(point, out) for every character; `out` becomes the text.
template <class Change>
void change_each(std::string& text, const Change& change) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); at += character_length(text, at)) change(code_point(text, at), out);
    text = std::move(out);
}

}  // namespace

void make_lower(std::string& text) {
    change_each(text, [](std::int32_t point, std::string& out) {
        constexpr std::int32_t dotted_capital_i = 0x130, dot_above = 0x307;  // the one that becomes two characters
        append(point == dotted_capital_i ? 'i' : utf8proc_tolower(point), out);
        if (point == dotted_capital_i) append(dot_above, out);
    });
}

void drop_marks(std::string& text) {
    change_each(text, [](std::int32_t point, std::string& out) {
        const auto category = utf8proc_category(point);
        if (category < UTF8PROC_CATEGORY_MN || category > UTF8PROC_CATEGORY_ME) append(point, out);
    });
}

std::int32_t code_point(std::string_view text, std::size_t at) {
    utf8proc_int32_t out = 0;
    utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                     static_cast<utf8proc_ssize_t>(text.size() - at), &out);
    return out;
}

bool is_number(std::int32_t point) {
    const auto category = utf8proc_category(point);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

namespace {

bool is_letter_or_digit(std::int32_t ascii) {
    return (ascii >= '0' && ascii <= '9') || (ascii >= 'A' && ascii <= 'Z') || (ascii >= 'a' && ascii <= 'z');
}

}  // namespace

bool is_punctuation(std::int32_t point) {
    if (point < 0x80) return point > ' ' && point < 0x7F && !is_letter_or_digit(point);
    const auto category = utf8proc_category(point);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_white_space(std::int32_t point) {
    static constexpr std::array<std::int32_t, 9> others{' ',    0x85,   0xA0,   0x1680, 0x2028,
                                                        0x2029, 0x202F, 0x205F, 0x3000};
    return (point >= '\t' && point <= '\r') || (point >= 0x2000 && point <= 0x200A) ||
           std::find(others.begin(), others.end(), point) != others.end();
}

std::size_t spaces_at_start(std::string_view text) {
    std::size_t at = 0;
    for (std::size_t length; at < text.size(); at += length) {
        length = character_length(text, at);
        if (!is_white_space(code_point(text, at))) break;
    }
    return at;
}

std::size_t spaces_at_end(std::string_view text) {
    std::size_t end = text.size();
    while (end > 0) {
        std::size_t at = end - 1;
        while (at > 0 && continues(text, at)) --at;
        if (!is_white_space(code_point(text, at))) break;
        end = at;
    }
    return text.size() - end;
}

const std::array<std::string, 256>& byte_alphabet() {
    static const auto alphabet = [] {
        std::array<std::string, 256> out;
        unsigned next = 256;  // bytes that don't print get the code points from 256 on
        for (unsigned byte = 0; byte < 256; ++byte)
            append(static_cast<std::int32_t>(printable(byte) ? byte : next++), out[byte]);
        return out;
    }();
    return alphabet;
}

const std::array<std::uint8_t, 256>& byte_order() {
    static const auto order = [] {
        std::array<std::uint8_t, 256> out{};
        std::size_t at = 0;
        for (const bool wanted : {true, false})
            for (unsigned byte = 0; byte < 256; ++byte)
                if (printable(byte) == wanted) out[at++] = static_cast<std::uint8_t>(byte);
        return out;
    }();
    return order;
}

std::optional<std::string> spelled_bytes(std::string_view piece) {
    static const auto bytes = [] {  // by code point, which takes at most two bytes of UTF-8
        std::array<std::int16_t, 0x800> out;
        out.fill(-1);
        for (unsigned byte = 0; byte < 256; ++byte)
            out[static_cast<std::size_t>(code_point(byte_alphabet()[byte], 0))] = static_cast<std::int16_t>(byte);
        return out;
    }();
    std::string out;
    for (std::size_t at = 0, length; at < piece.size(); at += length) {
        length = character_length(piece, at);
        const auto byte = length > 2 ? -1 : bytes[static_cast<std::size_t>(code_point(piece, at))];
        if (byte < 0) return std::nullopt;
        out += static_cast<char>(byte);
    }
    return out;
}

namespace {

enum class kind : std::uint8_t { other, letter, digit, space };

constexpr std::array<kind, 128> kinds = [] {
    std::array<kind, 128> out{};
    for (char c = 'a'; c <= 'z'; ++c) out[static_cast<std::size_t>(c)] = kind::letter;
    for (char c = 'A'; c <= 'Z'; ++c) out[static_cast<std::size_t>(c)] = kind::letter;
    for (char c = '0'; c <= '9'; ++c) out[static_cast<std::size_t>(c)] = kind::digit;
    for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) out[static_cast<std::size_t>(c)] = kind::space;
    return out;
}();

kind find_kind(char c) {
    return kinds[static_cast<std::size_t>(c)];
}

std::size_t run_end(std::string_view text, std::size_t at) {
    const auto what = find_kind(text[at]);
    while (at < text.size() && find_kind(text[at]) == what) ++at;
    return at;
}

/// Bytes of 's, 't, 're, 've, 'm, 'll or 'd, where `rest` begins with one; else 0.
std::size_t contraction(std::string_view rest) {
    constexpr std::array<std::string_view, 7> all{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    const auto found = std::find_if(all.begin(), all.end(), [&](auto one) { return rest.starts_with(one); });
    return found == all.end() ? 0 : found->size();
}

}  // namespace

bool is_ascii(std::string_view text) {
    unsigned char all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
}

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
    if (text[begin] == '\'')
        if (const auto length = contraction(text.substr(begin))) return begin + length;
    if (find_kind(text[begin]) != kind::space) return run_end(text, begin);
    if (text[begin] == ' ' && begin + 1 < text.size() && find_kind(text[begin + 1]) != kind::space)
        return run_end(text, begin + 1);
    const auto end = run_end(text, begin);
    // The last space before a word is the word's, or a piece of its own.
    return end == text.size() || end == begin + 1 ? end : end - 1;
}

}  // namespace rldp::models

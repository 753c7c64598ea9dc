#include "models/tokenizer/text.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

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

std::string encode_utf8(unsigned point) {  // below U+0800
    if (point < 0x80) return {static_cast<char>(point)};
    return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

/// Of a character of one or two bytes.
unsigned code_point(std::string_view text, std::size_t at) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    return lead < 0x80 ? lead : (lead & 0x1FU) << 6 | (static_cast<std::uint8_t>(text[at + 1]) & 0x3FU);
}

bool printable(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

bool is_space(std::string_view character) {
    static constexpr std::string_view all =
        " \n\t\r\v\f\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029"
        "\u202F\u205F\u3000";
    return all.find(character) != std::string_view::npos;
}

/// PCRE2's \s counts U+180E as a space, which Unicode and Oniguruma no longer do.
std::string unicode_spaces(std::string_view pattern) {
    std::string out;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '\\' || i + 1 == pattern.size()) {
            out += pattern[i];
            continue;
        }
        const char escaped = pattern[++i];
        if (escaped == 's' || escaped == 'S')
            out += escaped == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
        else
            out += {'\\', escaped};
    }
    return out;
}

/// Of one match. A hostile pattern could else take minutes and gigabytes over a few words.
auto match_limits(std::size_t text) {
    std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits(
        pcre2_match_context_create(nullptr), pcre2_match_context_free);
    if (limits == nullptr) throw std::bad_alloc();
    constexpr std::size_t most_steps = 10'000'000;  // PCRE2's own limit
    pcre2_set_match_limit(limits.get(), static_cast<std::uint32_t>(std::min(most_steps, 100'000 + 1000 * text)));
    pcre2_set_heap_limit(limits.get(), static_cast<std::uint32_t>(std::min(most_steps, 512 + text)));  // KiB
    return limits;
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t at) {
    return read_unit(text, at).length;
}

bool is_utf8(std::string_view text) {
    return valid_prefix(text) == text.size();
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

void compose(std::string& text) {
    utf8proc_uint8_t* composed = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (length == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
    require(length >= 0, "text to be composed is not UTF-8");
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, std::free);
    text.assign(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
}

std::size_t spaces_at_start(std::string_view text) {
    std::size_t at = 0;
    for (std::size_t length; at < text.size(); at += length) {
        length = character_length(text, at);
        if (!is_space(text.substr(at, length))) break;
    }
    return at;
}

std::size_t spaces_at_end(std::string_view text) {
    std::size_t end = text.size();
    while (end > 0) {
        std::size_t at = end - 1;
        while (at > 0 && continues(text, at)) --at;
        if (!is_space(text.substr(at, end - at))) break;
        end = at;
    }
    return text.size() - end;
}

const std::array<std::string, 256>& byte_alphabet() {
    static const auto alphabet = [] {
        std::array<std::string, 256> out;
        unsigned next = 256;  // bytes that don't print get the code points from 256 on
        for (unsigned byte = 0; byte < 256; ++byte) out[byte] = encode_utf8(printable(byte) ? byte : next++);
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
            out[code_point(byte_alphabet()[byte], 0)] = static_cast<std::int16_t>(byte);
        return out;
    }();
    std::string out;
    for (std::size_t at = 0, length; at < piece.size(); at += length) {
        length = character_length(piece, at);
        const auto byte = length > 2 ? -1 : bytes[code_point(piece, at)];
        if (byte < 0) return std::nullopt;
        out += static_cast<char>(byte);
    }
    return out;
}

regex::regex(std::string_view pattern, const std::string& where) : where_(where) {
    const auto portable = unicode_spaces(pattern);
    int problem = 0;
    PCRE2_SIZE offset = 0;
    // Oniguruma's Ruby syntax lets ^ and $ match at every line. \C would split characters.
    auto* code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(portable.data()), portable.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &problem, &offset, nullptr);
    if (code == nullptr) {
        std::array<PCRE2_UCHAR, 160> message{};
        pcre2_get_error_message(problem, message.data(), message.size());
        refuse(fmt::format("{}: not a regular expression that PCRE2 accepts: {}", where,
                           reinterpret_cast<const char*>(message.data())));
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without JIT the interpreter matches, only slower
    code_ = std::shared_ptr<pcre2_code>(code, pcre2_code_free);
}

std::vector<text_range> regex::matches(std::string_view text) const {
    const auto* code = static_cast<const pcre2_code*>(code_.get());
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    const auto limits = match_limits(text.size());
    if (data == nullptr) throw std::bad_alloc();
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::vector<text_range> out;
    for (std::size_t at = 0; at < text.size();) {
        auto rc = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), limits.get());
        if (rc == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter keeps its stack on the heap
            rc = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(),
                             limits.get());
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) refuse(fmt::format("{}: the pattern takes too long on a text (PCRE2 error {})", where_, rc));
        const auto* hit = pcre2_get_ovector_pointer(data.get());
        if (hit[1] > hit[0] && hit[0] >= at) out.push_back({hit[0], hit[1]});
        at = hit[1] > at ? hit[1] : at + character_length(text, at);
    }
    return out;
}

std::string regex::replace(std::string_view text, std::string_view with) const {
    std::string out;
    std::size_t at = 0;
    for (const auto [begin, end] : matches(text)) {
        out.append(text.substr(at, begin - at)).append(with);
        at = end;
    }
    out.append(text.substr(at));
    return out;
}

}  // namespace rldp::models

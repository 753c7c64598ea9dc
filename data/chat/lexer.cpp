#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "data/chat/lexer.hpp"
#include "data/chat/python_text.hpp"
#include "data/chat/value.hpp"

namespace rldp::data::jinja {

namespace {

void add_utf8(std::string& out, std::uint32_t code) {
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

/// What a single letter stands for, or 0.
char simple_escape(char letter) {
    static constexpr std::string_view letters = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    const auto which = letters.find(letter);
    return which == std::string_view::npos ? '\0' : meanings[which];
}

/// Reads the digits of a number that names a code point; gives how many bytes they are.
std::size_t add_code_point(std::string& out, std::string_view digits, int base, std::size_t needed) {
    std::uint32_t code = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    const auto read = static_cast<std::size_t>(end - digits.data());
    if (problem != std::errc() || read < needed || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        throw fault("an escape in a text names no character");
    add_utf8(out, code);
    return read;
}

}  // namespace

std::string unescaped(std::string_view literal) {
    std::string out;
    for (std::size_t i = 0; i < literal.size(); ++i) {
        if (literal[i] != '\\') {
            out += literal[i];
            continue;
        }
        const char letter = literal[++i];  // the lexer leaves no backslash alone
        const auto digits = [&](std::size_t most) { return literal.substr(i + 1).substr(0, most); };
        if (letter == '\n') continue;
        if (const char meant = simple_escape(letter); meant != '\0')
            out += meant;
        else if (letter == 'x')
            i += add_code_point(out, digits(2), 16, 2);
        else if (letter == 'u')
            i += add_code_point(out, digits(4), 16, 4);
        else if (letter == 'U')
            i += add_code_point(out, digits(8), 16, 8);
        else if (letter >= '0' && letter <= '7')
            i += add_code_point(out, literal.substr(i, 3), 8, 1) - 1;
        else if (letter == 'N' || static_cast<unsigned char>(letter) >= 0x80)
            throw fault("an escape in a text is not supported; write the character itself");
        else
            out.append({'\\', letter});
    }
    return out;
}

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/// With newlines alone as line ends, and without the last one.
std::string with_newlines(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
        out += source[i] == '\r' ? '\n' : source[i];
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

/// How many bytes of digits stand at the head; single underscores may part them.
std::size_t digits_at(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size() &&
           (is_digit(text[count]) || (text[count] == '_' && count > 0 && is_digit(text[count - 1]) &&
                                      count + 1 < text.size() && is_digit(text[count + 1]))))
        ++count;
    return count;
}

}  // namespace

lexer::lexer(std::string_view source) : source_(with_newlines(source)) {}

void lexer::move(std::size_t bytes) {
    const auto gone = std::string_view(source_).substr(at_, bytes);
    line_ += static_cast<std::uint32_t>(std::count(gone.begin(), gone.end(), '\n'));
    if (!gone.empty()) after_newline_ = gone.back() == '\n';
    at_ += gone.size();
}

void lexer::skip_space() {
    const auto rest = std::string_view(source_).substr(at_);
    move(rest.size() - stripped(rest, ends::left).size());
}

token lexer::made(token::kind what, std::size_t bytes) {
    token out{what, source_.substr(at_, bytes), line_};
    move(bytes);
    return out;
}

token lexer::next() {
    if (tag_ != 0 && !opens_) return in_tag();
    return between_tags();
}

token lexer::between_tags() {
    while (true) {
        if (opens_) {
            opens_ = false;
            return made(tag_ == '%' ? token::kind::block_begin : token::kind::print_begin, tag_bytes_);
        }
        if (at_ == source_.size()) return {token::kind::end, "", line_};
        std::size_t begin = source_.find('{', at_);
        while (
            begin != std::string::npos &&
            (begin + 1 == source_.size() || std::string_view("%{#").find(source_[begin + 1]) == std::string_view::npos))
            begin = source_.find('{', begin + 1);
        if (begin == std::string::npos) return made(token::kind::text, source_.size() - at_);

        const char tag = source_[begin + 1];
        const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
        auto before = std::string_view(source_).substr(at_, begin - at_);
        if (sign == '-') {
            before = stripped(before, ends::right);
        } else if (sign != '+' && tag != '{') {
            const auto newline = before.rfind('\n');
            const auto line = newline == std::string_view::npos ? 0 : newline + 1;
            if ((line > 0 || after_newline_) && stripped(before.substr(line)).empty()) before = before.substr(0, line);
        }
        token text{token::kind::text, std::string(before), line_};
        move(begin - at_);
        open_tag(begin);
        if (!text.text.empty()) return text;
    }
}

/// Stands at the head of a tag or comment; a comment is gone then.
void lexer::open_tag(std::size_t begin) {
    const bool has_sign = begin + 2 < source_.size() && (source_[begin + 2] == '-' || source_[begin + 2] == '+');
    tag_bytes_ = has_sign ? 3 : 2;
    if (source_[begin + 1] == '#') return skip_comment();
    tag_ = source_[begin + 1];
    opens_ = true;
}

void lexer::skip_comment() {
    const auto body = at_ + tag_bytes_;
    const auto close = source_.find("#}", body);
    if (close == std::string::npos) throw fault("a comment is not closed", line_);
    const char sign = close > body ? source_[close - 1] : '\0';
    move(close + 2 - at_);
    if (sign == '-')
        skip_space();
    else if (sign != '+' && begins("\n"))
        move(1);
}

bool lexer::close_tag(token& into) {
    const bool cuts = begins(tag_ == '%' ? "-%}" : "-}}"), keeps = tag_ == '%' && begins("+%}");
    if (!cuts && !keeps && !begins(tag_ == '%' ? "%}" : "}}")) return false;
    into = made(tag_ == '%' ? token::kind::block_end : token::kind::print_end, cuts || keeps ? 3 : 2);
    if (cuts)
        skip_space();
    else if (!keeps && tag_ == '%' && begins("\n"))
        move(1);
    tag_ = 0;
    return true;
}

token lexer::in_tag() {
    skip_space();
    if (at_ == source_.size()) throw fault("the template ends inside of a tag", line_);
    token closing;
    if (brackets_.empty() && close_tag(closing)) return closing;
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return string();
    if (!is_in_name(c)) return mark();
    const auto* end = std::find_if_not(source_.data() + at_, source_.data() + source_.size(), is_in_name);
    return made(token::kind::name, static_cast<std::size_t>(end - source_.data()) - at_);
}

token lexer::number() {
    const auto rest = std::string_view(source_).substr(at_);
    const auto whole = digits_at(rest);
    std::size_t length = whole;
    if (at_ == 0 || source_[at_ - 1] != '.') {  // a.0.b is no fraction
        if (rest.substr(length).starts_with('.'))
            if (const auto fraction = digits_at(rest.substr(length + 1))) length += 1 + fraction;
        if (length < rest.size() && (rest[length] == 'e' || rest[length] == 'E')) {
            const bool is_signed = length + 1 < rest.size() && (rest[length + 1] == '-' || rest[length + 1] == '+');
            const std::size_t head = length + (is_signed ? 2 : 1);
            if (const auto exponent = digits_at(rest.substr(std::min(head, rest.size())))) length = head + exponent;
        }
    }
    auto out = made(length == whole ? token::kind::integer : token::kind::real, length);
    std::erase(out.text, '_');
    const bool begins_with_0 =
        out.text.size() > 1 && out.text.find_first_not_of('0') != std::string::npos && out.text[0] == '0';
    if (out.what == token::kind::integer && begins_with_0) throw fault("an integer begins with 0", out.line);
    return out;
}

token lexer::string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) throw fault("a text is not closed", line_);
    auto out = made(token::kind::string, end + 1 - at_);
    try {
        out.text = unescaped(std::string_view(out.text).substr(1, out.text.size() - 2));
    } catch (const fault& wrong) {
        throw fault(wrong.what(), out.line);
    }
    return out;
}

token lexer::mark() {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
        if (begins(two)) return made(token::kind::mark, 2);
    const char c = source_[at_];
    if (std::string_view("+-/*%~[](){}><=.:|,").find(c) == std::string_view::npos)
        throw fault(
            fmt::format("'{}' does not belong into a tag", first_character(std::string_view(source_).substr(at_))),
            line_);
    if (c == '(' || c == '[' || c == '{') {
        brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (!brackets_.ends_with(c)) throw fault(fmt::format("'{}' closes nothing", c), line_);
        brackets_.pop_back();
    }
    return made(token::kind::mark, 1);
}

}  // namespace rldp::data::jinja

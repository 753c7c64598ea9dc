#include "base/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace rldp {

namespace {

using json = nlohmann::json;

/// Follows the parser to know where it is. It builds nothing: nlohmann's callbacks, which could tell the same, cost a
/// scan of the parent for every object that ends.
class watcher : public nlohmann::json_sax<json> {
  public:
    explicit watcher(std::size_t deepest) : deepest_(deepest) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }

    bool start_object(std::size_t) override {
        objects_.emplace_back();
        return go_deeper();
    }
    bool end_object() override {
        objects_.pop_back();
        --depth_;
        return true;
    }
    bool start_array(std::size_t) override { return go_deeper(); }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool key(string_t& name) override {
        last_key_ = name;
        objects_.back().current = name;
        return objects_.back().names.insert(name).second || stop(json_flaw::kind::repeated_key, 0, {});
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& problem) override {
        constexpr int number_overflow = 406;
        return stop(problem.id == number_overflow ? json_flaw::kind::number : json_flaw::kind::syntax, byte,
                    problem.what());
    }

    bool stop(json_flaw::kind what, std::size_t byte, std::string reason) {
        found = {what, byte, path(), last_key_, std::move(reason)};
        return false;
    }

    std::optional<json_flaw> found;

  private:
    struct object_in_progress {
        std::set<std::string> names;
        std::string current;
    };

    bool go_deeper() { return ++depth_ <= deepest_ || stop(json_flaw::kind::depth, 0, {}); }

    std::string path() const {
        std::string dotted;
        for (const auto& object : objects_) dotted += (dotted.empty() ? "" : ".") + object.current;
        return dotted;
    }

    std::size_t deepest_, depth_ = 0;
    std::string last_key_;
    std::vector<object_in_progress> objects_;
};

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Without the library's prefix, "[json.exception…] parse error at …: ", and on one printable line.
std::string reason(std::string text) {
    for (const std::string_view before : {"] ", "column "})
        if (const auto at = text.find(before); at != std::string::npos) text.erase(0, at + before.size());
    if (const auto digits = text.find_first_not_of("0123456789"); digits > 0 && text.compare(digits, 2, ": ") == 0)
        text.erase(0, digits + 2);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return text;
}

/// "line 3, column 7" of the byte that the parser stopped at, which counts from 1.
std::string describe_place(std::string_view text, std::size_t byte) {
    const auto before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    return fmt::format("line {}, column {}", line,
                       before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

/// Where a comma should stand, as a byte that counts from 1: behind the value before the token that the parser, at
/// `byte`, has just read instead of one.
std::optional<std::size_t> missing_comma(std::string_view text, std::size_t byte, const std::string& said) {
    const bool begins = said.find("unexpected string literal") != std::string::npos ||
                        said.find("unexpected number literal") != std::string::npos ||
                        said.find("unexpected '{'") != std::string::npos ||
                        said.find("unexpected '['") != std::string::npos;
    const bool goes_on =
        said.find("expected '}'") != std::string::npos || said.find("expected ']'") != std::string::npos;
    if (!begins || !goes_on || byte < 2 || byte > text.size()) return std::nullopt;
    const bool text_ends = text[byte - 1] == '"';
    const auto begins_token = [&](std::size_t at) {
        if (text_ends) return text[at] == '"' && text[at - 1] != '\\';
        return text[at] == '{' || text[at] == '[' || is_space(text[at - 1]);
    };
    auto at = byte - (text_ends ? 2 : 1);  // within the token
    while (at > 0 && !begins_token(at)) --at;
    while (at > 0 && is_space(text[at - 1])) --at;
    return at > 0 ? std::optional(at) : std::nullopt;
}

}  // namespace

std::string describe_flaw(const json_flaw& flaw, std::string_view text) {
    switch (flaw.what) {
        case json_flaw::kind::repeated_key:
            return flaw.path + " appears twice; keep one of the two";
        case json_flaw::kind::number:
            return fmt::format("{}: {}; write a number that a double holds", flaw.path, reason(flaw.reason));
        case json_flaw::kind::depth:
            return flaw.path + ": nested too deep";
        case json_flaw::kind::syntax:
            break;
    }
    if (const auto at = missing_comma(text, flaw.byte, flaw.reason))
        return describe_place(text, *at) + ": not JSON: a comma is missing behind this value";
    return fmt::format("{}: not JSON: {}", describe_place(text, flaw.byte), reason(flaw.reason));
}

std::optional<json_flaw> find_flaw(std::string_view text, std::size_t deepest) {
    watcher watch(deepest);
    if (json::sax_parse(text, &watch))
        if (const auto at = text.find('\0'); at != std::string_view::npos)
            watch.stop(json_flaw::kind::syntax, at + 1, "a zero byte");
    return watch.found;
}

}  // namespace rldp

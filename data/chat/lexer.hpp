#pragma once
// A chat template's text as tokens, and the escapes in its literals.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data::jinja {

/// The text that Python's escapes in a literal stand for; one that is none stays, with its backslash. Errors: fault of
/// names (\N) and of code points that are none.
std::string unescaped(std::string_view literal);

// Tokens. A template's text as what stands between tags, and what in them. White space is cut as Hugging Face sets
// Jinja up: trim_blocks, lstrip_blocks, no newline at the end.

struct token {
    enum class kind {
        text,
        block_begin,
        block_end,
        print_begin,
        print_end,
        name,
        string,   ///< its text without quotes and escapes
        integer,  ///< digits only
        real,
        mark,  ///< an operator or a bracket
        end
    };
    kind what = kind::end;
    std::string text = {};
    std::uint32_t line = 1;
};

class lexer {
  public:
    explicit lexer(std::string_view source);
    /// The next one; `end` again and again at the end. Errors: fault with the line.
    token next();

  private:
    token between_tags();
    void open_tag(std::size_t begin);
    void skip_comment();
    token in_tag();
    bool close_tag(token& into);
    token number();
    token string();
    token mark();
    void move(std::size_t bytes);
    void skip_space();
    bool begins(std::string_view what) const { return std::string_view(source_).substr(at_).starts_with(what); }
    token made(token::kind what, std::size_t bytes);

    std::string source_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1;
    char tag_ = 0;               // '%' or '{' in a tag
    bool opens_ = false;         // at the head of a tag
    std::size_t tag_bytes_ = 0;  // of that head
    bool after_newline_ = true;  // whether what was read ends a line
    std::string brackets_;       // closing ones that are awaited
};

}  // namespace rldp::data::jinja

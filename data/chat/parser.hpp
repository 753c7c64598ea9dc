#pragma once
// Reads statements and expressions by recursive descent, as deep as a template may be nested.
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/lexer.hpp"
#include "data/chat/program.hpp"

namespace rldp::data::jinja {

class parser {
  public:
    explicit parser(std::string_view source);
    program run();
    std::uint32_t line() const { return ahead_[0].line; }

  private:
    class descent;

    // Statements.
    node_id body(std::initializer_list<std::string_view> closers);
    node_id statement();
    node_id branch();
    node_id loop();
    node_id assignment();
    node_id macro();
    void parameters(std::vector<node_id>& into);
    node_id scoped_body(std::string_view end);
    node_id generation();
    node_id jump(op what);
    node_id target();
    node_id target_name();
    void close_block();

    // Expressions, the loosest first.
    node_id tuple();
    node_id tuple_after(node_id first, node_id (parser::*item)());
    node_id choice();
    node_id either();
    node_id both();
    node_id negation();
    node_id comparison();
    char comparison_ahead();
    node_id sum();
    node_id concatenation();
    node_id product();
    node_id signed_value(bool with_filters);
    node_id primary();
    node_id named_constant(const std::string& name);
    node_id number();
    node_id bracketed();
    node_id list();
    node_id dict();
    node_id called(node_id object);
    node_id with_postfix(node_id object);
    node_id subscript(node_id object);
    node_id with_filters(node_id object);
    node_id test(node_id object);
    void arguments(std::vector<node_id>& into);

    // Tokens.
    const token& ahead() const { return ahead_[0]; }
    token take();
    bool is(token::kind what, std::string_view text) const { return ahead().what == what && ahead().text == text; }
    bool is_mark(std::string_view text) const { return is(token::kind::mark, text); }
    bool is_name(std::string_view text) const { return is(token::kind::name, text); }
    bool take_mark(std::string_view text);
    bool take_name(std::string_view text);
    void expect_mark(std::string_view text);
    std::string expect_name();
    bool at_end_of_tuple() const;
    [[noreturn]] void unexpected() const;

    // Nodes.
    node_id add(op what, std::vector<node_id> parts, std::string name = {}, value constant = {});
    node_id add_text(op what, const std::string& text);

    lexer lexer_;
    std::array<token, 2> ahead_;
    program out_;
    unsigned depth_ = 0;
    unsigned loops_ = 0;       // around the statement being read
    bool inner_ = false;       // inside of a macro or a scoped body
    std::uint32_t began_ = 1;  // line of the tag being read
};

/// One level of nesting, for as long as it lives.
class parser::descent {
  public:
    explicit descent(parser& of);
    ~descent() { --of_.depth_; }
    descent(const descent&) = delete;
    descent& operator=(const descent&) = delete;

  private:
    parser& of_;
};

}  // namespace rldp::data::jinja

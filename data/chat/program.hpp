#pragma once
// A template as a tree, for the interpreter.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "data/chat/value.hpp"

namespace rldp::data::jinja {

/// A node by its number; 0 is none.
using node_id = std::uint32_t;

/// What a node is, and what its parts are. [] may be missing, which is 0.
enum class op : std::uint8_t {
    nothing,
    // Statements.
    body,          ///< statements
    text,          ///< constant
    print,         ///< an expression
    branch,        ///< condition, body, condition, body, …, [body]
    loop,          ///< what is gone through, [condition], body, [else], target
    assign,        ///< target, expression
    assign_block,  ///< target, body
    generation,    ///< a body that is an answer, whose variables end with it
    define_macro,  ///< name; parameters, body
    parameter,     ///< name; [default]
    leave_loop,
    next_turn,
    // Expressions, and targets: a name, an attribute of one, or a tuple of names.
    constant,
    name,
    attribute,  ///< name; object
    item,       ///< object, key
    slice,      ///< object, [start], [stop], [step]
    call,       ///< what is called, arguments; a keyword's last
    keyword,    ///< name; value
    filter,     ///< name; what it is for, arguments
    test,       ///< name; what is tested, arguments
    negation,
    minus,
    plus,
    arithmetic,     ///< name is the operator; two operands
    concatenation,  ///< operands
    comparison,     ///< name has a letter for each operator between the operands: = ! < l > g i n
    both,           ///< operands of `and`
    either,         ///< operands of `or`
    choice,         ///< condition, value, [other value]
    list,
    tuple,
    dict,  ///< key, value, key, value, …
};

struct node {
    op what = op::nothing;
    std::uint8_t depth = 0;
    std::uint32_t line = 0;
    std::string name = {};
    value constant = {};
    std::vector<node_id> parts = {};
};

struct program {
    std::deque<node> nodes;
    node_id root = 0;
};

/// Errors: bad_input, "WHERE: line N: what", of what is no template or uses what is not supported here. Filters, tests
/// and methods are looked up only when they are used: a template for tools may be used without them.
program parse(std::string_view source, const std::string& where);

}  // namespace rldp::data::jinja

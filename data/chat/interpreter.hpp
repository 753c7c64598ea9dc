#pragma once
// Runs a program.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/operations.hpp"
#include "data/chat/program.hpp"

namespace rldp::data::jinja {

/// Around what {% generation %} holds, where it is marked: bytes that no UTF-8 has.
inline constexpr char answer_begins = '\xfe', answer_ends = '\xff';

class interpreter {
  public:
    interpreter(const program& of, std::optional<std::chrono::year_month_day> today, allowance& left, bool marks)
        : program_(of), today_(today), left_(left), marks_(marks), output_(left) {}

    /// What the program says, with `variables` set. Once. Errors: fault; line() is where.
    std::string run(std::map<std::string, value, std::less<>> variables);
    std::uint32_t line() const { return line_; }

  private:
    enum class flow { on, next_turn, leave_loop };
    struct scope {
        std::map<std::string_view, value> names = {};
        std::size_t parent = 0;  ///< its own for the outermost
    };
    class descent;

    // Statements.
    flow execute(node_id at);
    flow branch(const node& at);
    flow loop(const node& at);
    std::shared_ptr<const series> list_turns(const node& at);
    void push(std::size_t parent);
    void pop() { scopes_.pop_back(); }
    void assign(const node& target, const value& what);
    std::string captured(node_id body);

    // Expressions.
    value evaluate(node_id at);
    value evaluate_operation(const node& at);
    value named(std::string_view name) const;
    value attribute(const value& object, std::string_view name);
    value loop_attribute(const loop_place& place, std::string_view name);
    value item(const node& at);
    value slice(const node& at);
    value comparison(const node& at);
    value logical(const node& at);
    value concatenation(const node& at);
    std::vector<value> evaluate_all(const node& at);
    value dict(const node& at);

    // Calls.
    arguments evaluate_arguments(const node& at);
    value call(const node& at);
    value call_function(const function& which, const arguments& given);
    value call_macro(node_id which, const arguments& given);
    value range(const arguments& given);
    value date(const std::string& format);

    const node& at(node_id which) const { return program_.nodes[which]; }

    const program& program_;
    std::optional<std::chrono::year_month_day> today_;
    allowance& left_;
    bool marks_;
    growing output_;
    growing* out_ = &output_;
    std::map<std::string, value, std::less<>> variables_;
    std::vector<scope> scopes_;
    std::vector<std::unique_ptr<space>> spaces_;
    std::uint32_t line_ = 1;
    unsigned depth_ = 0;
};

/// One level of nesting while running, for as long as it lives.
class interpreter::descent {
  public:
    explicit descent(unsigned& depth);
    ~descent() { --depth_; }
    descent(const descent&) = delete;
    descent& operator=(const descent&) = delete;

  private:
    unsigned& depth_;
};

}  // namespace rldp::data::jinja

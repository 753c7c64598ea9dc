// Statements, and what both halves of the parser stand on.
#include "data/chat/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace rldp::data::jinja {

namespace {

constexpr unsigned deepest_nesting = 64;     // of brackets and blocks; ten are many
constexpr unsigned deepest_tree = 200;       // a chain of operators goes deep without brackets
constexpr std::size_t most_nodes = 100'000;  // the longest templates known have 3,000

}  // namespace

program parse(std::string_view source, const std::string& where) {
    std::uint32_t line = 1;
    try {
        parser reader(source);
        try {
            return reader.run();
        } catch (const fault&) {
            line = reader.line();
            throw;
        }
    } catch (const fault& wrong) {
        refuse(fmt::format("{}: line {}: {}", where, wrong.line() > 0 ? wrong.line() : line, wrong.what()));
    }
}

parser::descent::descent(parser& of) : of_(of) {
    if (of_.depth_ >= deepest_nesting) throw fault(fmt::format("nested deeper than {} levels", deepest_nesting));
    ++of_.depth_;
}

parser::parser(std::string_view source) : lexer_(source) {
    for (auto& token : ahead_) token = lexer_.next();
    out_.nodes.emplace_back();
}

program parser::run() {
    out_.root = body({});
    return std::move(out_);
}

token parser::take() {
    auto out = std::exchange(ahead_[0], std::move(ahead_[1]));
    ahead_[1] = lexer_.next();
    return out;
}

bool parser::take_mark(std::string_view text) {
    const bool found = is_mark(text);
    if (found) take();
    return found;
}

bool parser::take_name(std::string_view text) {
    const bool found = is_name(text);
    if (found) take();
    return found;
}

void parser::expect_mark(std::string_view text) {
    if (!take_mark(text)) unexpected();
}

std::string parser::expect_name() {
    if (ahead().what != token::kind::name) unexpected();
    return take().text;
}

void parser::unexpected() const {
    switch (ahead().what) {
        case token::kind::end:
            throw fault("the template ends too early");
        case token::kind::block_end:
            throw fault("a tag ends too early");
        case token::kind::print_end:
            throw fault("an expression ends too early");
        default:
            throw fault(fmt::format("'{}' is not expected here", ahead().text));
    }
}

node_id parser::add(op what, std::vector<node_id> parts, std::string name, value constant) {
    if (out_.nodes.size() >= most_nodes) throw fault("the template is too long to be one");
    unsigned depth = 0;
    for (const auto part : parts) depth = std::max<unsigned>(depth, out_.nodes[part].depth);
    if (depth >= deepest_tree) throw fault(fmt::format("an expression is deeper than {} levels", deepest_tree));
    parts.shrink_to_fit();
    out_.nodes.push_back({what, static_cast<std::uint8_t>(depth + 1), ahead().line, std::move(name),
                          std::move(constant), std::move(parts)});
    return static_cast<node_id>(out_.nodes.size() - 1);
}

node_id parser::add_text(op what, const std::string& text) {
    return add(what, {}, {}, std::make_shared<const std::string>(text));
}

/// Up to the tag whose name is one of `closers`; that name is ahead then.
node_id parser::body(std::initializer_list<std::string_view> closers) {
    const descent deeper(*this);
    std::vector<node_id> parts;
    while (true) {
        const auto begin = take();
        if (begin.what == token::kind::text) {
            parts.push_back(add_text(op::text, begin.text));
        } else if (begin.what == token::kind::print_begin) {
            parts.push_back(add(op::print, {tuple()}));
            if (ahead().what != token::kind::print_end) unexpected();
            take();
        } else if (begin.what == token::kind::block_begin) {
            if (ahead().what == token::kind::name &&
                std::find(closers.begin(), closers.end(), ahead().text) != closers.end())
                break;
            parts.push_back(statement());
        } else if (closers.size() == 0) {
            break;
        } else {
            throw fault(fmt::format("the template ends before '{}'", *(closers.end() - 1)));
        }
    }
    return add(op::body, std::move(parts));
}

void parser::close_block() {
    if (ahead().what != token::kind::block_end) unexpected();
    take();
}

node_id parser::statement() {
    began_ = ahead().line;
    const auto name = expect_name();
    if (name == "if") return branch();
    if (name == "for") return loop();
    if (name == "set") return assignment();
    if (name == "macro") return macro();
    if (name == "generation") return generation();
    if (name == "break") return jump(op::leave_loop);
    if (name == "continue") return jump(op::next_turn);
    if (name.starts_with("end") || name == "else" || name == "elif")
        throw fault(fmt::format("the tag '{}' closes nothing", name), began_);
    throw fault(fmt::format("the tag '{}' is not supported; write the template without it", name), began_);
}

node_id parser::branch() {
    std::vector<node_id> parts;
    do {
        parts.push_back(either());
        close_block();
        parts.push_back(body({"elif", "else", "endif"}));
    } while (take_name("elif"));
    if (take_name("else")) {
        close_block();
        parts.push_back(body({"endif"}));
    }
    take();
    close_block();
    return add(op::branch, std::move(parts));
}

node_id parser::loop() {
    const auto to = target();
    if (!take_name("in")) unexpected();
    auto through = either();
    if (is_mark(",")) through = tuple_after(through, &parser::either);  // `if` is the loop's
    const node_id condition = take_name("if") ? choice() : 0;
    if (is_name("recursive")) throw fault("a recursive loop is not supported");
    close_block();
    ++loops_;
    const auto turn = body({"else", "endfor"});
    --loops_;
    node_id otherwise = 0;
    if (take_name("else")) {
        close_block();
        otherwise = body({"endfor"});
    }
    take();
    close_block();
    return add(op::loop, {through, condition, turn, otherwise, to});
}

node_id parser::jump(op what) {
    if (loops_ == 0) throw fault("break or continue outside of a loop", began_);
    close_block();
    return add(what, {});
}

node_id parser::target_name() {
    const auto name = expect_name();
    if (name == "loop" || name == "true" || name == "false" || name == "none" || name == "True" || name == "False" ||
        name == "None")
        throw fault(fmt::format("'{}' can't be assigned to", name));
    return add(op::name, {}, name);
}

node_id parser::target() {
    if (ahead().what == token::kind::name && ahead_[1].what == token::kind::mark && ahead_[1].text == ".") {
        const auto object = target_name();
        take();
        return add(op::attribute, {object}, expect_name());
    }
    const bool bracketed = take_mark("(");
    std::vector<node_id> names = {target_name()};
    bool several = false;
    while (take_mark(",")) {
        several = true;
        if (ahead().what != token::kind::name || is_name("in")) break;
        names.push_back(target_name());
    }
    if (bracketed) expect_mark(")");
    return several ? add(op::tuple, std::move(names)) : names[0];
}

node_id parser::assignment() {
    const auto to = target();
    if (take_mark("=")) {
        const auto what = tuple();
        close_block();
        return add(op::assign, {to, what});
    }
    if (is_mark("|")) throw fault("filters of a set block are not supported");
    return add(op::assign_block, {to, scoped_body("endset")});
}

node_id parser::scoped_body(std::string_view end) {
    close_block();
    const bool was_inner = std::exchange(inner_, true);
    const auto loops = std::exchange(loops_, 0U);
    const auto what = body({end});
    inner_ = was_inner;
    loops_ = loops;
    take();
    close_block();
    return what;
}

node_id parser::generation() {
    return add(op::generation, {scoped_body("endgeneration")});
}

node_id parser::macro() {
    // Elsewhere it would see variables that may be gone when it is called.
    if (inner_ || loops_ > 0) throw fault("a macro inside of a loop or another macro is not supported", began_);
    auto name = expect_name();
    std::vector<node_id> parts;
    parameters(parts);
    close_block();
    inner_ = true;
    parts.push_back(body({"endmacro"}));
    inner_ = false;
    take();
    close_block();
    return add(op::define_macro, std::move(parts), std::move(name));
}

void parser::parameters(std::vector<node_id>& into) {
    expect_mark("(");
    bool has_default = false;
    while (!is_mark(")")) {
        if (!into.empty()) expect_mark(",");
        auto name = expect_name();
        node_id otherwise = 0;
        if (take_mark("="))
            otherwise = choice();
        else if (has_default)
            throw fault(fmt::format("the parameter '{}' needs a default, as those before it", name));
        has_default = otherwise != 0;
        into.push_back(add(op::parameter, {otherwise}, std::move(name)));
    }
    take();
}

}  // namespace rldp::data::jinja

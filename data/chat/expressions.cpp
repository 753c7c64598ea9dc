// Expressions, with the precedence that Jinja gives them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "data/chat/parser.hpp"

namespace rldp::data::jinja {

bool parser::at_end_of_tuple() const {
    return ahead().what == token::kind::print_end || ahead().what == token::kind::block_end || is_mark(")");
}

node_id parser::tuple() {
    const auto first = choice();
    return is_mark(",") ? tuple_after(first, &parser::choice) : first;
}

/// The rest of a tuple whose items `item` reads.
node_id parser::tuple_after(node_id first, node_id (parser::*item)()) {
    std::vector<node_id> parts = {first};
    while (take_mark(",") && !at_end_of_tuple()) parts.push_back((this->*item)());
    return add(op::tuple, std::move(parts));
}

node_id parser::choice() {
    const descent deeper(*this);
    auto out = either();
    while (take_name("if")) {
        const auto condition = either();
        const node_id other = take_name("else") ? choice() : 0;
        out = add(op::choice, {condition, out, other});
    }
    return out;
}

node_id parser::either() {
    std::vector<node_id> parts = {both()};
    while (take_name("or")) parts.push_back(both());
    return parts.size() == 1 ? parts[0] : add(op::either, std::move(parts));
}

node_id parser::both() {
    std::vector<node_id> parts = {negation()};
    while (take_name("and")) parts.push_back(negation());
    return parts.size() == 1 ? parts[0] : add(op::both, std::move(parts));
}

node_id parser::negation() {
    if (!is_name("not")) return comparison();
    const descent deeper(*this);
    take();
    return add(op::negation, {negation()});
}

/// The letter of the comparison that is ahead, which is taken; 0 where none is.
char parser::comparison_ahead() {
    if (is_name("not") && ahead_[1].what == token::kind::name && ahead_[1].text == "in") {
        take();
        take();
        return 'n';
    }
    if (take_name("in")) return 'i';
    if (ahead().what != token::kind::mark) return 0;
    static constexpr std::array<std::pair<std::string_view, char>, 6> all = {
        {{"==", '='}, {"!=", '!'}, {"<", '<'}, {"<=", 'l'}, {">", '>'}, {">=", 'g'}}};
    for (const auto& [written, letter] : all)
        if (take_mark(written)) return letter;
    return 0;
}

node_id parser::comparison() {
    std::vector<node_id> parts = {sum()};
    std::string letters;
    while (const char letter = comparison_ahead()) {
        letters += letter;
        parts.push_back(sum());
    }
    return letters.empty() ? parts[0] : add(op::comparison, std::move(parts), std::move(letters));
}

node_id parser::sum() {
    auto out = concatenation();
    while (is_mark("+") || is_mark("-")) {
        auto which = take().text;
        const auto right = concatenation();
        out = add(op::arithmetic, {out, right}, std::move(which));
    }
    return out;
}

node_id parser::concatenation() {
    std::vector<node_id> parts = {product()};
    while (take_mark("~")) parts.push_back(product());
    return parts.size() == 1 ? parts[0] : add(op::concatenation, std::move(parts));
}

node_id parser::product() {
    auto out = signed_value(true);
    while (is_mark("*") || is_mark("/") || is_mark("//") || is_mark("%")) {
        auto which = take().text;
        const auto right = signed_value(true);
        out = add(op::arithmetic, {out, right}, std::move(which));
    }
    if (is_mark("**")) throw fault("'**' is not supported");
    return out;
}

node_id parser::signed_value(bool filters) {
    node_id out = 0;
    if (is_mark("-") || is_mark("+")) {
        const descent deeper(*this);
        const auto what = take().text == "-" ? op::minus : op::plus;
        out = add(what, {signed_value(false)});
    } else {
        out = primary();
    }
    out = with_postfix(out);
    return filters ? with_filters(out) : out;
}

node_id parser::primary() {
    switch (ahead().what) {
        case token::kind::name:
            return named_constant(take().text);
        case token::kind::integer:
        case token::kind::real:
            return number();
        case token::kind::string: {
            auto text = take().text;
            while (ahead().what == token::kind::string) text += take().text;
            return add_text(op::constant, text);
        }
        case token::kind::mark:
            if (is_mark("(")) return bracketed();
            if (is_mark("[")) return list();
            if (is_mark("{")) return dict();
            break;
        default:
            break;
    }
    unexpected();
}

node_id parser::named_constant(const std::string& name) {
    if (name == "true" || name == "True") return add(op::constant, {}, {}, true);
    if (name == "false" || name == "False") return add(op::constant, {}, {}, false);
    if (name == "none" || name == "None") return add(op::constant, {}, {}, none{});
    return add(op::name, {}, name);
}

node_id parser::number() {
    const auto written = take();
    const auto *begin = written.text.data(), *end = begin + written.text.size();
    if (written.what == token::kind::integer) {
        std::int64_t whole = 0;
        if (std::from_chars(begin, end, whole).ec != std::errc()) throw fault("an integer is too large");
        return add(op::constant, {}, {}, whole);
    }
    double number = 0;
    if (std::from_chars(begin, end, number).ec != std::errc()) throw fault("a number is too large or too small");
    return add(op::constant, {}, {}, number);
}

/// What stands in parentheses: an expression or a tuple.
node_id parser::bracketed() {
    take();
    if (take_mark(")")) return add(op::tuple, {});
    const auto out = tuple();
    expect_mark(")");
    return out;
}

node_id parser::list() {
    take();
    std::vector<node_id> parts;
    while (!is_mark("]")) {
        if (!parts.empty()) expect_mark(",");
        if (!is_mark("]")) parts.push_back(choice());
    }
    take();
    return add(op::list, std::move(parts));
}

node_id parser::dict() {
    take();
    std::vector<node_id> parts;
    while (!is_mark("}")) {
        if (!parts.empty()) expect_mark(",");
        if (is_mark("}")) break;
        parts.push_back(choice());
        expect_mark(":");
        parts.push_back(choice());
    }
    take();
    return add(op::dict, std::move(parts));
}

node_id parser::called(node_id object) {
    std::vector<node_id> parts = {object};
    arguments(parts);
    return add(op::call, std::move(parts));
}

node_id parser::with_postfix(node_id object) {
    while (true) {
        if (take_mark(".")) {
            if (ahead().what == token::kind::integer)
                object = add(op::item, {object, number()});
            else
                object = add(op::attribute, {object}, expect_name());
        } else if (is_mark("[")) {
            object = subscript(object);
        } else if (is_mark("(")) {
            object = called(object);
        } else {
            return object;
        }
    }
}

node_id parser::subscript(node_id object) {
    take();
    std::vector<node_id> parts = {object, 0, 0, 0};
    std::size_t colons = 0;
    while (!is_mark("]")) {
        if (is_mark(":") && colons < 2) {
            take();
            ++colons;
        } else if (parts[colons + 1] == 0 && !is_mark(",")) {
            parts[colons + 1] = choice();
        } else {
            unexpected();
        }
    }
    take();
    if (colons > 0) return add(op::slice, std::move(parts));
    if (parts[1] == 0) throw fault("an index is missing");
    return add(op::item, {object, parts[1]});
}

node_id parser::with_filters(node_id object) {
    while (true) {
        if (take_mark("|")) {
            auto name = expect_name();
            std::vector<node_id> parts = {object};
            if (is_mark("(")) arguments(parts);
            object = add(op::filter, std::move(parts), std::move(name));
            if (is_mark(".")) throw fault("parentheses are missing around what '.' is applied to");
        } else if (is_name("is")) {
            object = test(object);
        } else if (is_mark("(")) {
            object = called(object);
        } else {
            return object;
        }
    }
}

node_id parser::test(node_id object) {
    take();
    const bool negated = take_name("not");
    auto name = expect_name();
    std::vector<node_id> parts = {object};
    const bool is_plain = ahead().what == token::kind::name || ahead().what == token::kind::string ||
                          ahead().what == token::kind::integer || ahead().what == token::kind::real || is_mark("[") ||
                          is_mark("{");
    if (is_mark("(")) {
        arguments(parts);
    } else if (is_plain && !is_name("else") && !is_name("or") && !is_name("and")) {
        if (is_name("is")) throw fault("a test can't be tested; use parentheses");
        const descent deeper(*this);
        const auto wanted = primary();
        parts.push_back(with_postfix(wanted));
    }
    const auto out = add(op::test, std::move(parts), std::move(name));
    return negated ? add(op::negation, {out}) : out;
}

void parser::arguments(std::vector<node_id>& into) {
    expect_mark("(");
    bool first = true, named = false;
    while (!is_mark(")")) {
        if (!first) expect_mark(",");
        first = false;
        if (is_mark(")")) break;
        if (is_mark("*") || is_mark("**")) throw fault("arguments by * are not supported");
        const bool is_keyword =
            ahead().what == token::kind::name && ahead_[1].what == token::kind::mark && ahead_[1].text == "=";
        if (is_keyword) {
            auto name = take().text;
            take();
            into.push_back(add(op::keyword, {choice()}, std::move(name)));
            named = true;
        } else if (named) {
            throw fault("an argument without a name stands behind one with a name");
        } else {
            into.push_back(choice());
        }
    }
    take();
}

}  // namespace rldp::data::jinja

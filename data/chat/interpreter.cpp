// Statements.
#include "data/chat/interpreter.hpp"

#include <fmt/format.h>

#include <utility>

namespace rldp::data::jinja {

namespace {

constexpr unsigned deepest_run = 600;  // nodes within nodes, through macros that call themselves; 1 MB of stack

}  // namespace

interpreter::descent::descent(unsigned& depth) : depth_(depth) {
    if (depth_ >= deepest_run)
        throw fault("macros call one another too deeply, as macros without end do; use another template");
    ++depth_;
}

std::string interpreter::run(std::map<std::string, value, std::less<>> variables) {
    variables_ = std::move(variables);
    push(0);
    for (const auto& [name, held] : variables_) scopes_.back().names.emplace(name, held);
    execute(program_.root);
    return std::move(output_.text());
}

interpreter::flow interpreter::execute(node_id which) {
    const descent deeper(depth_);
    left_.step();
    const node& here = at(which);
    line_ = here.line;
    switch (here.what) {
        case op::text:
            out_->add(*find_text(here.constant));
            break;
        case op::print:
            write(*out_, evaluate(here.parts[0]));
            break;
        case op::branch:
            return branch(here);
        case op::loop:
            return loop(here);
        case op::assign:
            assign(at(here.parts[0]), evaluate(here.parts[1]));
            break;
        case op::assign_block:
            assign(at(here.parts[0]), make_text(left_, captured(here.parts[1])));
            break;
        case op::define_macro:
            scopes_.back().names[here.name] = function{function::kind::macro, which};
            break;
        case op::leave_loop:
            return flow::leave_loop;
        case op::next_turn:
            return flow::next_turn;
        case op::generation:
            if (marks_) out_->add({&answer_begins, 1});
            push(scopes_.size() - 1);
            execute(here.parts[0]);
            pop();
            if (marks_) out_->add({&answer_ends, 1});
            break;
        default:
            for (const auto part : here.parts)
                if (const auto then = execute(part); then != flow::on) return then;
    }
    return flow::on;
}

interpreter::flow interpreter::branch(const node& here) {
    std::size_t i = 0;
    for (; i + 1 < here.parts.size(); i += 2)
        if (is_true(evaluate(here.parts[i]))) return execute(here.parts[i + 1]);
    return i < here.parts.size() ? execute(here.parts[i]) : flow::on;
}

/// What the loop goes through, of which its condition leaves some.
std::shared_ptr<const series> interpreter::list_turns(const node& here) {
    auto all = walk(left_, evaluate(here.parts[0]));
    if (here.parts[1] == 0) return all;
    std::vector<value> kept;
    for (const auto& item : all->items) {
        push(scopes_.size() - 1);
        assign(at(here.parts[4]), item);
        if (is_true(evaluate(here.parts[1]))) kept.push_back(item);
        pop();
    }
    return std::get<std::shared_ptr<const series>>(make_series(left_, series::kind::list, std::move(kept)));
}

interpreter::flow interpreter::loop(const node& here) {
    const auto turns = list_turns(here);
    bool completes_one = false;
    for (std::size_t i = 0; i < turns->items.size(); ++i) {
        left_.step();
        push(scopes_.size() - 1);  // what a turn sets ends with it
        assign(at(here.parts[4]), turns->items[i]);
        scopes_.back().names["loop"] = std::make_shared<const loop_place>(loop_place{turns, i});
        const auto then = execute(here.parts[2]);
        pop();
        completes_one = completes_one || then == flow::on;
        if (then == flow::leave_loop) break;
    }
    // Jinja takes the other way, too, where each turn was cut short.
    if (completes_one || here.parts[3] == 0) return flow::on;
    push(scopes_.size() - 1);
    const auto then = execute(here.parts[3]);
    pop();
    return then;
}

void interpreter::push(std::size_t parent) {
    scopes_.push_back({{}, parent});
}

void interpreter::assign(const node& target, const value& what) {
    if (target.what == op::name) {
        scopes_.back().names[target.name] = what;
    } else if (target.what == op::attribute) {
        const auto object = named(at(target.parts[0]).name);
        auto* const* into = std::get_if<space*>(&object);
        if (into == nullptr)
            throw fault(fmt::format("'{}' is no namespace; only of one can '{}' be set", at(target.parts[0]).name,
                                    target.name));
        left_.make(target.name.size() + sizeof(value));
        (*into)->names[target.name] = what;
    } else {
        const auto items = walk(left_, what);
        if (items->items.size() != target.parts.size())
            throw fault(fmt::format("{} values for {} names", items->items.size(), target.parts.size()));
        for (std::size_t i = 0; i < target.parts.size(); ++i) assign(at(target.parts[i]), items->items[i]);
    }
}

/// What `body` says in a scope of its own.
std::string interpreter::captured(node_id body) {
    growing said(left_);
    auto* const before = std::exchange(out_, &said);
    push(scopes_.size() - 1);
    execute(body);
    pop();
    out_ = before;
    return std::move(said.text());
}

}  // namespace rldp::data::jinja

#include "run/synthesis/row_walk.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace rldp::actors {

const std::vector<std::int32_t>& token_lists::find(const column_values& of, const data::places& at) {
    constexpr std::size_t most_kept = 2000;
    if (kept_.size() <= of.number) kept_.resize(of.number + 1);
    auto& kept = kept_[of.number];
    const auto& values = of.values;
    const auto key = values.within(at, tokens_.longest());
    const auto found = kept.find(key);
    if (found != kept.end()) return found->second;
    if (kept.size() == most_kept) kept.clear();
    return kept.emplace(key, tokens_.admissible(values, at)).first->second;
}

row_walk::row_walk(const row_plan& plan) : plan_(&plan), at_(plan.slots.front().of->values.begin()) {}

row_walk::outlook row_walk::look(token_lists& known) const {
    static const std::vector<std::int32_t> none;
    if (over_) return {};
    const auto& slot = plan_->slots[slot_];
    outlook out{.what = need::choice, .token = 0, .values = at_.empty() ? &none : &known.find(*slot.of, at_)};
    const auto add = [&](std::int32_t id) {
        if (!std::binary_search(out.values->begin(), out.values->end(), id) &&
            std::find(out.words.begin(), out.words.end(), id) == out.words.end())
            out.words.push_back(id);
    };
    for (const auto& one : readings_) add(slot.after[one.words]);
    const bool ends = slot.of->values.ends(at_);
    if (ends && !slot.after.empty()) add(slot.after.front());
    out.may_end = may_end_ || (ends && slot.after.empty());
    const auto count = out.values->size() + out.words.size();
    if (count == 0) {
        out.what = out.may_end ? need::choice : need::stuck;
    } else if (count == 1 && !out.may_end) {
        out.what = need::given;
        out.token = out.words.empty() ? out.values->front() : out.words.front();
    }
    return out;
}

void row_walk::take(std::int32_t token) {
    const auto& slot = plan_->slots[slot_];
    const auto& bytes = plan_->table->tokens.spell(token);
    std::vector<reading> next;
    for (const auto& one : readings_)
        if (slot.after[one.words] == token) next.push_back({one.words + 1, one.value});
    if (!slot.after.empty() && slot.after.front() == token && slot.of->values.ends(at_))
        next.push_back({1, value_.size()});
    at_ = slot.of->values.next(at_, bytes);
    readings_ = std::move(next);
    value_ += bytes;
    may_end_ = false;
    if (slot.of->is_text) {
        const auto ended =
            std::find_if(readings_.begin(), readings_.end(), [&](const auto& one) { return one.words >= slot.ending; });
        if (ended != readings_.end()) {
            readings_ = {*ended};
            at_.clear();
        }
    }
    const auto whole = std::find_if(readings_.begin(), readings_.end(),
                                    [&](const auto& one) { return one.words == slot.after.size(); });
    if (whole != readings_.end()) {
        const bool last = slot_ + 1 == plan_->slots.size();
        // Behind the last words nothing tells whether a number goes on; where it can, what follows decides.
        if (last && !slot.of->is_text && (!at_.empty() || readings_.size() > 1)) {
            may_end_ = true;
            values_.resize(slot_);
            values_.push_back(value_.substr(0, whole->value));
            readings_.erase(whole);
        } else {
            settle(whole->value);
        }
    }
}

void row_walk::end() {
    if (may_end_) {
        over_ = true;
        return;
    }
    settle(value_.size());
}

void row_walk::settle(std::size_t value_size) {
    values_.resize(slot_);
    values_.push_back(value_.substr(0, value_size));
    readings_.clear();
    value_.clear();
    if (++slot_ == plan_->slots.size()) {
        over_ = true;
        return;
    }
    at_ = plan_->slots[slot_].of->values.begin();
}

std::string row_walk::text() const {
    auto out = plan_->opening_text;
    for (std::size_t i = 0; i < values_.size(); ++i) out += values_[i] + plan_->slots[i].after_text;
    return out;
}

std::optional<std::vector<std::string>> row_walk::cells() const {
    require(over_, "the cells of a row that is not whole");
    std::vector<std::string> out;
    for (const auto& cell : plan_->given) out.push_back(cell.value_or(""));
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const auto& slot = plan_->slots[i];
        const auto& told = values_[i];
        if (const auto listed = slot.of->cells.find(told); listed != slot.of->cells.end()) {
            out[slot.of->column] = listed->second;
            continue;
        }
        const auto& around = *slot.of->around;
        auto value = told.substr(around.before.size(), told.size() - around.before.size() - around.after.size());
        if (slot.of->is_text && (told + slot.ending_text).find(slot.ending_text) != told.size()) return std::nullopt;
        if (slot.of->decimal_comma) std::replace(value.begin(), value.end(), '.', ',');
        out[slot.of->column] = std::move(value);
    }
    return out;
}

}  // namespace rldp::actors

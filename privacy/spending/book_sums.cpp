// What the runs of a budget book come to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/book.hpp"

namespace rldp::privacy {

namespace {

using run_list = std::vector<const book_entry*>;

bool is_raw(const book_entry* run) {
    return run->held_out == publication::raw;
}

/// In the order of the first run of each.
template <class Same>
std::vector<run_list> apart(const run_list& runs, Same same) {
    std::vector<run_list> out;
    for (const auto* run : runs) {
        const auto found = std::find_if(out.begin(), out.end(), [&](const auto& all) { return same(*all[0], *run); });
        if (found == out.end())
            out.push_back({run});
        else
            found->push_back(run);
    }
    return out;
}

/// Of all units, on whatever side of whatever split.
bool is_of_all(const book_entry* run) {
    return run->split.empty();
}

struct parted {
    std::vector<run_list> splits;
    run_list of_all;
};

parted part(const run_list& runs) {
    parted out;
    run_list own;
    for (const auto* run : runs) (is_of_all(run) ? out.of_all : own).push_back(run);
    out.splits = apart(own, [](const auto& a, const auto& b) { return a.split == b.split; });
    return out;
}

void add_runs(run_list& to, const run_list& more) {
    to.insert(to.end(), more.begin(), more.end());
}

/// What composes: a unit's side is the same in all of each. What is of all units goes with a split that is alone.
std::vector<run_list> by_split(const run_list& runs) {
    auto [splits, of_all] = part(runs);
    if (splits.size() == 1)
        add_runs(splits.front(), of_all);
    else if (!of_all.empty())
        splits.push_back(of_all);
    return splits;
}

run_list list_run_pointers(const budget_book& book) {
    run_list out;
    for (const auto& run : book.runs) out.push_back(&run);
    return out;
}

/// Those that add up.
std::vector<run_list> summable(const budget_book& book) {
    std::vector<run_list> out;
    for (const auto& runs :
         apart(list_run_pointers(book), [](const auto&a, const auto&b) { return a.unit == b.unit; })) {
        if (std::none_of(runs.begin(), runs.end(), is_raw)) {
            out.push_back(runs);
            continue;
        }
        auto parts = part(runs);
        for (auto& split : parts.splits) {
            add_runs(split, parts.of_all);
            out.push_back(std::move(split));
        }
    }
    return out;
}

/// Of runs of one split with a guarantee, at `delta`; infinite where there is no room in it for those that only add up.
double composed_at(const run_list& runs, double delta) {
    double apart = 0, left = delta, squares = 0;
    std::vector<phase> phases;
    for (const auto* run : runs) {
        left -= run->padding_delta;
        // What one unit alone has may be named with probability p: seen from without it that is a factor of 1 − p
        // (docs/privacy.md §16).
        if (is_of_all(run)) apart -= std::log1p(-run->padding_delta);
        if (!run->phases.empty()) {
            phases.insert(phases.end(), run->phases.begin(), run->phases.end());
            if (const auto& looks = run->looks; looks.count > 0)
                squares += static_cast<double>(looks.count) / (looks.noise_multiplier * looks.noise_multiplier);
        } else {
            left -= run->delta - run->padding_delta;
            apart += *run->epsilon_guaranteed;
        }
    }
    // A hair more than the sum of what was taken off again.
    if (left <= 0) return phases.empty() && left > -1e-12 * delta ? apart : std::numeric_limits<double>::infinity();
    // A unit is trained on in all of them or looked at in all of them: the worse of both sides (docs/privacy.md §13).
    return apart + std::max(make_accountant("pld")->epsilon(phases, left), gaussian_epsilon(std::sqrt(squares), left));
}

/// Of what is given, the sums of ε and δ, or neither.
struct added {
    std::optional<double> epsilon_guaranteed = 0;
    double delta = 0;
};

added add_up(const run_list& runs) {
    added out;
    for (const auto* run : runs) {
        out.delta += run->delta;
        out.epsilon_guaranteed = out.epsilon_guaranteed && run->epsilon_guaranteed
                                     ? std::optional(*out.epsilon_guaranteed + *run->epsilon_guaranteed)
                                     : std::nullopt;
    }
    return out;
}

/// Distributions compose where splits are equal; what that comes to for each split adds up. One split may use all of
/// `delta`.
double composed(const run_list& runs, double delta) {
    const auto splits = by_split(runs);
    double out = 0;
    for (const auto& each : splits) {
        const auto sum = add_up(each);
        const double at = splits.size() == 1 ? delta : sum.delta;
        out += at < 1 ? std::min(*sum.epsilon_guaranteed, composed_at(each, at)) : *sum.epsilon_guaranteed;
    }
    return out;
}

std::string describe_each(const std::string& unit) {
    return unit == "record" ? "each record" : "each " + unit;
}

/// Whether it protects the total's unit, as it is or as a group of records.
bool counts_for(const book_entry& run, const book_total& total) {
    return run.unit == total.unit || (run.unit == "record" && total.records_per_unit);
}

std::optional<std::string> why_no_sum(const run_list& runs) {
    const auto raw = std::find_if(runs.begin(), runs.end(), is_raw);
    for (const auto* run : runs) {
        if (!run->epsilon_guaranteed) return fmt::format("{} guarantees nothing, and a total was set", run->place);
        if (raw != runs.end() && !is_of_all(run) && run->split != (*raw)->split)
            return fmt::format(
                "{} shows raw figures of those that it holds out, and {} splits the data otherwise, so they have no "
                "sum; keep data.split, data.split_seed and privacy.unit",
                (*raw)->place, run->place);
    }
    return {};
}

}  // namespace

std::optional<std::string> detail::excess(const budget_book& book, const book_total& most) {
    run_list own, records;
    for (const auto& run : book.runs)
        if (counts_for(run, most)) (run.unit == most.unit ? own : records).push_back(&run);
    auto all = own;
    add_runs(all, records);
    if (all.empty()) return {};
    if (auto why = why_no_sum(all)) return why;
    auto sum = add_up(own);
    const double own_delta = sum.delta;
    double by_group = 0;
    for (const auto* run : records) {
        const auto price = price_for_group(*run->epsilon_guaranteed, run->delta, *most.records_per_unit);
        by_group += price.epsilon;
        sum.delta += price.delta;
    }
    const bool one = all.size() == 1;
    const auto how_many = records.empty() ? fmt::format("{} run{}", all.size(), one ? "" : "s")
                                          : fmt::format("{} runs, {} of them by record and priced for {} records,",
                                                        all.size(), records.size(), *most.records_per_unit);
    const auto which = book.totals.size() == 1 ? std::string() : fmt::format(" for {}", describe_each(most.unit));
    if (!(sum.delta <= most.delta * (1 + 1e-9)))
        return fmt::format("the δ of {} add{} up to {:.4g}, and the total{} is {:g}", how_many, one ? "s" : "",
                           sum.delta, which, most.delta);
    double epsilon = *sum.epsilon_guaranteed;
    if (most.by == composition_rule::pld && !own.empty())
        epsilon = std::min(epsilon, composed(own, records.empty() ? most.delta : own_delta));
    epsilon += by_group;
    if (!(epsilon <= most.epsilon_budget * (1 + 1e-9)))
        return fmt::format("{} come{} to ε = {:.4g} ({}), and the total{} is {:g}", how_many, one ? "s" : "", epsilon,
                           most.by == composition_rule::basic ? "added up" : "composed", which, most.epsilon_budget);
    return {};
}

group_price price_for_group(double epsilon, double delta, std::int64_t size) {
    const auto m = static_cast<double>(size);
    return {m * epsilon, epsilon > 0 ? delta * (std::expm1(m * epsilon) / std::expm1(epsilon)) : m * delta};
}

std::vector<book_sum> compute_sums(const budget_book& book) {
    std::vector<book_sum> out;
    for (const auto& runs : summable(book)) {
        const auto sum = add_up(runs);
        const auto splits = part(runs).splits;
        out.push_back({.unit = runs.front()->unit,
                       .split = splits.size() == 1 ? splits.front().front()->split : "",
                       .delta = sum.delta,
                       .epsilon_guaranteed = sum.epsilon_guaranteed,
                       .pld = {},
                       .runs = runs.size(),
                       .of_all = splits.empty()});
        if (sum.epsilon_guaranteed && sum.delta < 1)
            out.back().pld = std::min(*sum.epsilon_guaranteed, composed(runs, sum.delta));
    }
    return out;
}

std::optional<std::string> detail::excess(const budget_book& book, const book_entry& last) {
    if (book.totals.empty()) return {};
    const auto counted = [&](const auto& total) { return counts_for(last, total); };
    if (std::none_of(book.totals.begin(), book.totals.end(), counted))
        return fmt::format(
            "{} counts by {}, and no total is one for {}; set one (rldp book with --total-epsilon, --total-delta and "
            "--unit {}{})",
            last.place, last.unit, describe_each(last.unit), last.unit,
            last.unit == "record" ? ", or another unit's with --records-per-unit" : "");
    for (const auto& total : book.totals)
        if (auto why = excess(book, total)) return why;
    return {};
}

}  // namespace rldp::privacy

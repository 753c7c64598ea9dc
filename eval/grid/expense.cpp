#include "eval/grid/expense.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>

#include "config/base/made_up.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::eval {
namespace {

std::string cells(std::size_t count) {
    return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

}  // namespace

void expense::add(const cell& which, const cell_result& result) {
    if (!result.committed) return;
    if (!which.split) {
        ++made_up;
        return;
    }
    if (std::find(splits.begin(), splits.end(), *which.split) == splits.end()) splits.push_back(*which.split);
    raw = raw || result.committed->held_out == publication::raw;
    if (!result.committed->holds) {
        ++unbounded;
        return;
    }
    ++bounded;
    epsilon += result.committed->epsilon_guaranteed;
    delta += result.committed->delta;
}

std::string expense::why_no_sum() const {
    if (bounded + unbounded == 0) return "no cell has read real data";
    if (unbounded > 0) return cells(unbounded) + " read the data without any guarantee";
    const auto differ = keys_that_differ(splits);
    if (std::find(differ.begin(), differ.end(), "privacy.unit") != differ.end())
        return "the cells protect different units (privacy.unit), whose bounds don't add up";
    if (raw && splits.size() > 1)
        return fmt::format(
            "the cells do not share one split of the data (they differ in {}), so a unit that one trains on may be in "
            "another's held-out perplexity, which no contract covers",
            fmt::join(differ, ", "));
    return {};
}

std::vector<std::string> expense_sentences(const expense& cost) {
    std::vector<std::string> out;
    const auto why_not = cost.why_no_sum();
    if (why_not.empty())
        out.push_back(fmt::format(
            "{} read the training data under a bound; for someone who sees all their outputs, ε adds up to {:.4g} and "
            "δ to {:.4g} (basic composition, an upper bound). That is for {}; other runs on these data, and cells "
            "removed "
            "from here, come on top.",
            cells(cost.bounded), cost.epsilon, cost.delta,
            cost.raw ? "the training units of the one split that all of them share, and assumes that held-out "
                       "perplexities concern units outside the contract"
                     : "every unit of the data"));
    else if (cost.bounded + cost.unbounded > 0)
        out.push_back(fmt::format("No sum of ε is given: {}.", why_not));
    if (cost.made_up > 0)
        out.push_back(
            fmt::format("{} read made-up records ({}N), which are nobody's: no one's budget was spent, no ε "
                        "is summed, and their splits may differ.",
                        cells(cost.made_up), synthetic_prefix));
    return out;
}

nlohmann::ordered_json to_json(const expense& cost) {
    const auto why_not = cost.why_no_sum();
    nlohmann::ordered_json out = {{"epsilon_sum", nullptr}, {"delta_sum", nullptr}};
    if (why_not.empty()) {
        out["epsilon_sum"] = json_number(cost.epsilon);
        out["delta_sum"] = cost.delta;
    } else {
        out["no_sum_because"] = why_not;
    }
    out["cells_with_bound"] = cost.bounded;
    out["cells_without_bound"] = cost.unbounded;
    out["cells_of_made_up_data"] = cost.made_up;
    return out;
}

}  // namespace rldp::eval

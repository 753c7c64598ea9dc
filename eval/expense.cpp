#include "eval/expense.hpp"

#include <fmt/format.h>

namespace rldp::eval {

void expense::add(const cell_result& cell) {
    seconds += cell.history.seconds;
    if (!cell.committed) return;
    if (!cell.committed->holds) {
        ++unbounded;
        return;
    }
    ++bounded;
    epsilon += cell.committed->guaranteed_epsilon;
    delta += cell.committed->delta;
}

std::vector<std::string> expense_sentences(const expense& cost, const std::string& what, bool made_up) {
    std::vector<std::string> out;
    if (cost.bounded > 0)
        out.push_back(
            fmt::format("{} cells read the training data under a bound; for someone who sees all their outputs, ε adds "
                        "up to {:.4g} and δ to {:.4g} (basic composition, an upper bound).",
                        cost.bounded, cost.epsilon, cost.delta));
    if (cost.unbounded > 0)
        out.push_back(fmt::format(
            "{} cells read the data without any guarantee: for someone who sees their outputs too, there is no bound.",
            cost.unbounded));
    if (made_up) out.push_back(fmt::format("The data of this {} are made up, so no one's budget was spent.", what));
    if (cost.seconds > 0)
        out.push_back(fmt::format("The reported cells took {} of wall time.", duration_in_words(cost.seconds)));
    return out;
}

std::string duration_in_words(double seconds) {
    return seconds < 5400 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace rldp::eval

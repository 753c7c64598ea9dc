#include "monitor/view/run_view.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace rldp::monitor {

void run_view::observe(const eval::metrics_line& line) {
    const bool has_evaluation = line.eval_perplexity && line.step >= evaluated_step;
    const bool has_price = line.progress.step >= std::max<std::int64_t>(1, progress_step);
    const auto is_news = [&](eval::moment when) {
        return when == eval::moment::evaluation ? has_evaluation
               : when == eval::moment::price    ? has_price
                                                : line.step >= step;
    };
    for (const auto& row : eval::quantities) {
        if (!is_news(row.when)) continue;
        if (const auto found = row.value_in(line)) latest[row.which] = {*found, row.interval_in(line)};
    }
    if (has_evaluation) evaluated_step = line.step;
    if (has_price) progress_step = line.progress.step;
    if (line.step == 0 && line.eval_perplexity) perplexity_before = *line.eval_perplexity;
    step = std::max(step, line.step);
}

bool is_over(const run_view& run) {
    constexpr std::array<std::string_view, 5> ends = {"done", "budget exhausted", "interrupted", "failed", "damaged"};
    return std::find(ends.begin(), ends.end(), run.state) != ends.end();
}

}  // namespace rldp::monitor

#include "actors/run/known_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "eval/report/run_log.hpp"

namespace rldp::actors {

std::vector<eval::metrics_line> known_lines(const eval::run_directory& where, const privacy::ledger_content& book,
                                            std::int64_t checkpointed, bool accept_lost) {
    auto found = eval::find_log(where.metrics(), book, checkpointed);
    if (!found.missing.empty() && !accept_lost)
        refuse(
            fmt::format("{}; so there is none of {}, and up to the checkpoint's step, {}, lines can't be made again: "
                        "bring back the run's own file, or leave such rows empty with rldp run --resume {} "
                        "--accept-lost-lines",
                        found.wrong.empty() ? where.metrics().string() + ": lines were taken away" : found.wrong,
                        eval::steps_in_words(found.missing), checkpointed, where.root.string()));
    for (const auto step : found.missing) found.lines.push_back(eval::lost_line(book, step));
    std::sort(found.lines.begin(), found.lines.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    return std::move(found.lines);
}

bool evaluated(const std::vector<eval::metrics_line>& lines, std::int64_t step) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.step == step && line.eval_perplexity; });
}

evaluations evaluations_in(const std::vector<eval::metrics_line>& lines) {
    evaluations out;
    for (const auto& line : lines)
        if (line.eval_perplexity) out.add(line.step, eval::scores_in(line));
    return out;
}

}  // namespace rldp::actors

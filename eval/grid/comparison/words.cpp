#include "eval/grid/comparison/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <cmath>

namespace rldp::eval {
namespace {

std::size_t count(const score& one, cell_state state) {
    const auto found = one.cells.find(state);
    return found == one.cells.end() ? 0 : found->second;
}

bool any_insecure(const compare_report& report) {
    return std::any_of(report.cells.begin(), report.cells.end(),
                       [](const auto& one) { return one.result.summary && one.result.summary->insecure_reproducible; });
}

// What the cells have in common besides their contract.
std::string footing(const compare_report& report) {
    const std::string split = report.plan.made_up
                                  ? "The data are made up, and cells of one seed share the split, the evaluation "
                                    "subset and the initial adapters."
                                  : "All cells share one split of the data and one evaluation subset, and those of "
                                    "one seed the initial adapters.";
    return split + (any_insecure(report) ? " Cells of one seed share draws and noise too."
                                         : " Draws and noise are each run's own secret.");
}

}  // namespace

std::string short_number(double value) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    return fmt::format("{:.4g}", value);
}

std::string in_words(const statistic& of) {
    if (!of.mean) return "–";
    auto out = short_number(*of.mean);
    if (of.deviation) out += " ± " + fmt::format("{:.2g}", *of.deviation);
    return out;
}

std::string in_words(const std::vector<std::int64_t>& seeds) {
    return seeds.empty() ? "–" : fmt::format("{}", fmt::join(seeds, ", "));
}

std::string in_words(const score& one, std::size_t seeds) {
    const auto failed = count(one, cell_state::failed);
    if (!one.end.mean) {
        if (failed > 0) return "failed";
        if (count(one, cell_state::unfinished) > 0) return "unfinished";
        return count(one, cell_state::not_run) > 0 ? "not run" : "–";
    }
    auto out = in_words(one.end);
    if (one.end.n < seeds) out += fmt::format(" ({} of {})", one.end.n, seeds);
    if (failed > 0) out += fmt::format(", {} failed", failed);
    if (one.exhausted > 0) out += fmt::format(", {} out of budget early", one.exhausted);
    return out;
}

std::string speed_sentence(const comparison& of) {
    if (!of.mean_fraction) return {};
    const auto runs = of.reaches.size(), reached = of.reached();
    if (reached == 0)
        return fmt::format("RLDP never reached the best baseline's final score, in {} run{}.", runs,
                           runs == 1 ? "" : "s");
    return fmt::format(
        "RLDP reached the best baseline's final score in {} of {} run{}. It took {:.0f} % of its steps on average, "
        "{:.0f} "
        "% in the median; a run that never did counts as 100 %.",
        reached, runs, runs == 1 ? "" : "s", 100 * *of.mean_fraction, 100 * *of.median_fraction);
}

std::vector<std::string> tuning_sentences(const compare_report& report) {
    const auto& plan = report.plan;
    if (!plan.tunes()) return {};
    std::vector<std::string> out = {
        fmt::format("Each method's learning rate is the best of {} by mean end perplexity over {} seed{} that {} not "
                    "reported, on {} "
                    "made-up records: no budget of the real data. A tie goes to the rate named first.",
                    plan.rates.size(), plan.tune_seeds.size(), plan.tune_seeds.size() == 1 ? "" : "s",
                    plan.tune_seeds.size() == 1 ? "is" : "are", plan.tuning_records)};
    out.emplace_back(
        "The sampling rate of tuning is the real run's as far as the number of made-up records makes it so "
        "(--tune-records); what is best on made-up records need not be best on the real ones.");
    const auto edges = std::count_if(report.tuning_results.begin(), report.tuning_results.end(),
                                     [](const auto& one) { return one.at_edge; });
    if (edges > 0)
        out.push_back(fmt::format(
            "{} of the rates chosen lie at the edge of the grid (marked *): a wider grid may be better.", edges));
    return out;
}

std::vector<std::string> caveats(const compare_report& report) {
    std::vector<std::string> out = {
        footing(report),
        report.cost.raw
            ? "Held-out perplexity is raw information about Eval units: it lies outside of every run's contract, "
              "and choosing a method by this table is a choice made with it."
            : "Held-out figures carry the noise of looks at held-out units, within each run's contract: "
              "differences that are smaller than it say nothing.",
        "The best baseline is the one of the lowest mean at that ε, chosen after the fact: that makes the bar for RLDP "
        "a little higher, not lower.",
        "Deviations are over seeds (n−1); with few seeds they say little, and nothing of how another split would do "
        "where all cells share one.",
    };
    for (const auto& method : report.plan.methods)
        if (method.part == role::unsound)
            out.push_back(method.name + " has no guarantee at any ε; it is shown and never compared.");
    if (any_insecure(report))
        out.emplace_back("noise.insecure_reproducible is on: NONE of these runs has any guarantee.");
    return out;
}

}  // namespace rldp::eval

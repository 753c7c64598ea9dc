// What `rldp compare` prints.
#include <fmt/format.h>

#include "eval/grid/comparison/files.hpp"
#include "eval/grid/comparison/words.hpp"
#include "eval/report/text_table.hpp"

namespace rldp::eval {
namespace {

using rows = std::vector<std::vector<std::string>>;

std::string signed_number(const std::optional<double>& value) {
    return value ? fmt::format("{}{}", *value > 0 ? "+" : "", short_number(*value)) : "–";
}

std::string scores_text(const compare_report& report, const comparison& of, bool own) {
    rows out(1, {"method"});
    for (const auto epsilon : report.plan.epsilons) out[0].push_back(fmt::format("ε = {}", epsilon));
    for (const auto& method : report.plan.methods) {
        out.push_back({method.name + (method.part == role::unsound ? " (no guarantee)" : "")});
        for (const auto& one : of.scores) {
            if (one.method != method.name) continue;
            auto words = own && !one.lr ? "not tuned yet" : in_words(one, report.plan.seeds.size());
            if (own && one.lr) words += fmt::format(" at {:g}", *one.lr);
            out.back().push_back(words);
        }
    }
    return text_table(out);
}

std::string standings_text(const comparison& of) {
    rows out = {{"ε", "best baseline", "its end perplexity", "RLDP's", "seeds", "difference", "ratio"}};
    for (const auto& one : of.standings)
        out.push_back({fmt::format("{}", one.epsilon), one.baseline.value_or("–"), in_words(one.baseline_end),
                       in_words(one.ours_end), in_words(one.seeds), signed_number(one.difference),
                       one.ratio ? short_number(*one.ratio) : "–"});
    const auto speed = speed_sentence(of);
    return text_table(out) + (speed.empty() ? "" : speed + "\n");
}

}  // namespace

std::string compare_text(const compare_report& report) {
    auto out = fmt::format("Held-out perplexity at the end, learning rate {:g}\n\n", report.plan.base_lr) +
               scores_text(report, report.at_common, false) + "\n" + standings_text(report.at_common);
    if (report.plan.tunes()) {
        out += "\nEach method at its own learning rate\n\n" + scores_text(report, report.at_own, true) + "\n" +
               standings_text(report.at_own);
        for (const auto& sentence : tuning_sentences(report)) out += sentence + "\n";
    }
    out += "\n";
    for (const auto& sentence : expense_sentences(report.cost)) out += sentence + "\n";
    return out;
}

}  // namespace rldp::eval

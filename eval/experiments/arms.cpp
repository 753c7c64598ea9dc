#include "eval/experiments/arms.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace rldp::eval {
namespace {

/// Whether a number was chosen beyond which an axis has no other.
bool is_at_edge(const arm& which, const arm_setting& setting) {
    using json = nlohmann::json;
    for (std::size_t i = 0; i < which.tuned.size(); ++i) {
        std::vector<double> numbers;
        for (const auto& text : which.tuned[i].values)
            if (const auto value = json::parse(text); value.is_number()) numbers.push_back(value.get<double>());
        if (numbers.size() < 2 || numbers.size() < which.tuned[i].values.size()) continue;
        const double chosen = json::parse(setting[i].substr(setting[i].find('=') + 1)).get<double>();
        const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
        if (chosen == *least || chosen == *most) return true;
    }
    return false;
}

/// The trials of one setting.
struct trials {
    std::vector<double> values;
    bool ended = true, failed = false;

    void add(const cell_result& result, const tuning_rule& how) {
        ended = ended && (result.state == cell_state::done || result.state == cell_state::failed);
        const auto value = result.summary ? how.value(*result.summary) : std::nullopt;
        if (value && std::isfinite(*value))
            values.push_back(*value);
        else
            failed = true;
    }
};

tuned_arm tune_arm(const arm& which, double epsilon, const tuning_rule& how,
                   const std::map<std::size_t, trials>& by_setting) {
    const auto settings = how.settings(which);
    tuned_arm out{.arm = which.name, .epsilon = epsilon};
    if (settings.front().empty()) return out;
    out.settings = settings.size();
    out.tried.resize(settings.size());
    std::optional<std::size_t> best;
    for (const auto& [number, one] : by_setting) {
        out.tried[number] = compute_statistic(one.values);
        if (!one.ended) continue;
        ++out.ended;
        if (one.failed)
            ++out.failed;
        else if (!best || how.prefers(*out.tried[number].mean, *out.tried[*best].mean))
            best = number;
    }
    if (out.ended < out.settings || !best) return out;
    out.chosen = best;
    out.setting = settings[*best];
    out.value = out.tried[*best].mean;
    out.at_edge = is_at_edge(which, out.setting);
    return out;
}

}  // namespace

std::string name_of(role part) {
    switch (part) {
        case role::baseline:
            return "baseline";
        case role::ours:
            return "ours";
        case role::control:
            return "control";
        case role::unsound:
            return "unsound";
    }
    bug("a role without a name");
}

std::vector<tuned_arm> tune(const std::vector<arm>& arms, const std::vector<double>& epsilons, const tuning_rule& how,
                            const std::vector<measured>& cells) {
    std::map<std::pair<std::string, double>, std::map<std::size_t, trials>> all;
    for (const auto& [where, result] : cells)
        if (where.trial) all[{where.arm, where.epsilon}][*where.setting].add(result, how);
    std::vector<tuned_arm> out;
    for (const auto epsilon : epsilons)
        for (const auto& which : arms) out.push_back(tune_arm(which, epsilon, how, all[{which.name, epsilon}]));
    return out;
}

}  // namespace rldp::eval

#include "rl/prepare/ablation.hpp"

#include <array>

namespace rldp::rl {
std::vector<ablation> ablations(const ablation_terms& terms, const scheduled_policy& ruled, const scheduled_policy& whole) {
    std::vector<ablation> out;
    const auto judge = [&](const char* name, const std::vector<double>& losses) {
        out.push_back({name, compare(losses, terms.common)});
    };
    const auto part = [&](const char* name, std::span<const rule::number> free) {
        const auto found = search_rule(terms.tasks, terms.start, {}, terms.search, free);
        judge(name, final_losses(terms.gate, {found.fixed, found.how}, terms.judging));
    };
    constexpr std::array clock = {rule::bias, rule::time, rule::forget};
    constexpr std::array plan = {rule::bias, rule::time, rule::forget, rule::noise};
    constexpr std::array common = {rule::bias,   rule::time,   rule::forget, rule::noise,
                                   rule::signal, rule::cosine, rule::along,  rule::slope};
    constexpr std::array own = {rule::bias,       rule::time,      rule::forget,         rule::noise,
                                rule::own_signal, rule::own_along, rule::share_of_signal};
    constexpr std::array along = {rule::along, rule::forget};
    constexpr std::array deaf = {rule::bias,   rule::time,   rule::forget,     rule::noise,
                                 rule::signal, rule::cosine, rule::own_signal, rule::share_of_signal};
    constexpr std::array blind = {rule::bias,   rule::time,  rule::forget,     rule::noise,     rule::signal,
                                  rule::cosine, rule::along, rule::own_signal, rule::own_along, rule::share_of_signal};
    part("rule of time alone", clock);
    part("of time and noise", plan);
    part("without own levers", common);
    part("without common ones", own);
    part("along and forget alone", along);
    part("without along", deaf);
    part("without the probe", blind);
    judge("rule, shuffled", shuffled_losses(terms.gate, ruled, terms.judging));
    judge("policy, shuffled", shuffled_losses(terms.gate, whole, terms.judging));
    return out;
}

}  // namespace rldp::rl

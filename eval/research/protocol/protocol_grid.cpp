#include "eval/research/protocol/protocol.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/guarantee.hpp"
#include "eval/experiments/comparison.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

namespace {

using json = nlohmann::ordered_json;

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

std::string text_at(const json& configuration, const std::string& key) {
    return value_at(configuration, key).get<std::string>();
}

/// Its overrides: `first`, the arm's own, what all share, then the setting.
protocol_cell make_cell(const protocol_plan& plan, const arm& which, double epsilon, std::int64_t seed, bool tuning,
                        const std::vector<std::string>& setting) {
    protocol_cell out;
    out.arm = which.name;
    out.epsilon = epsilon;
    out.seed = seed;
    out.tuning = tuning;
    out.run.at = {{"arm", which.name}, {"epsilon", fmt::format("{}", epsilon)}, {"stage", tuning ? "tuning" : "test"}};
    auto& all = out.run.overrides;
    if (tuning) append(all, plan.how.tuning.set);
    append(all, which.set);
    all.push_back(fmt::format("privacy.epsilon={}", epsilon));
    append(all, equal_footing(seed, tuning || is_synthetic(text_at(plan.what.base, "data.path")), plan.what.base));
    append(all, setting);
    return out;
}

std::vector<protocol_cell> trial_cells(const protocol_plan& plan) {
    std::vector<protocol_cell> out;
    for (const auto epsilon : plan.how.epsilons)
        for (const auto& which : plan.how.arms) {
            const auto settings = list_trials(which, plan.how);
            if (settings.front().empty()) continue;  // nothing to choose
            for (std::size_t i = 0; i < settings.size(); ++i)
                for (const auto seed : plan.how.tuning.seeds) {
                    auto one = make_cell(plan, which, epsilon, seed, true, settings[i]);
                    one.setting = i;
                    one.number = out.size();
                    one.run.id = fmt::format("tune-{}-eps{}-setting{}-seed{}", which.name, epsilon, i, seed);
                    out.push_back(std::move(one));
                }
        }
    return out;
}

protocol_cell test_cell(const protocol_plan& plan, const arm& which, const tuned_arm& tuned, std::int64_t seed) {
    auto out = make_cell(plan, which, tuned.epsilon, seed, false, tuned.setting);
    const auto setting = tuned.chosen ? fmt::format("-setting{}", *tuned.chosen) : "";
    out.setting = tuned.chosen;
    out.run.id = fmt::format("{}-eps{}{}-seed{}", which.name, tuned.epsilon, setting, seed);
    out.run.at["seed"] = std::to_string(seed);
    return out;
}

std::vector<axis> list_axes(const protocol& how) {
    std::vector<axis> out{{"arm", {}}, {"epsilon", {}}, {"seed", {}}, {"stage", {"tuning", "test"}}};
    for (const auto& one : how.arms) out[0].values.push_back(one.name);
    for (const auto epsilon : how.epsilons) out[1].values.push_back(fmt::format("{}", epsilon));
    for (const auto seed : how.seeds) out[2].values.push_back(std::to_string(seed));
    return out;
}

/// Everything that the protocol says of arms and tuning: a directory of another one is not gone on with.
json described(const protocol& how) {
    json out = {{"measure", how.compared.name}, {"ours", how.ours},        {"tuning_set", how.tuning.set},
                {"trials", how.tuning.trials},  {"draw", how.tuning.draw}, {"tuning_seeds", how.tuning.seeds}};
    for (const auto& one : how.arms) {
        out["arms"][one.name]["set"] = one.set;
        for (const auto& each : one.tuned) out["arms"][one.name]["tuned"][each.name] = each.values;
    }
    return out;
}

bool names_a_text(const std::string& path) {
    return path.ends_with(".txt") || path.ends_with(".jsonl");
}

void require_measurable(const measure& compared, const json& base) {
    if ((compared.name == "auc" || compared.name == "accuracy") && value_at(base, "eval.target").is_null())
        refuse(
            fmt::format("measure: {} is of the column that eval.target names, and the base names none", compared.name));
    if (compared.name == "value_nats" && names_a_text(text_at(base, "data.path")))
        refuse("measure: value_nats is of a table's values, and the base's data are text; use bits_per_byte");
}

/// Whoever chose on the test's data would report the choice, not the method, and spend their budget on it.
void refuse_tested_data(const protocol_cell& trial, const json& configuration, const json& base) {
    const auto own = text_at(configuration, "data.path"), tested = text_at(base, "data.path");
    if (is_synthetic(own)) return;
    std::error_code absent;
    if (own == tested || std::filesystem::equivalent(own, tested, absent))
        refuse(
            fmt::format("tuning.set: cell {} would be tuned on {}, the data of the test; set data.path to made-up "
                        "records (synthetic:N) or to a public table",
                        trial.run.id, own));
}

const arm& arm_named(const protocol& how, const std::string& name) {
    for (const auto& one : how.arms)
        if (one.name == name) return one;
    bug("no arm " + name);
}

/// Whether a number was chosen beyond which an axis has no other.
bool is_at_edge(const arm& which, const std::vector<std::string>& setting) {
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
struct tried {
    std::vector<double> values;
    bool ended = true, failed = false;

    void add(const cell_result& result, const measure& compared) {
        ended = ended && (result.state == cell_state::done || result.state == cell_state::failed);
        const auto value = result.summary ? compared.of(*result.summary) : std::nullopt;
        if (value && std::isfinite(*value))
            values.push_back(*value);
        else
            failed = true;
    }
};

tuned_arm tune_arm(const protocol_plan& plan, const arm& which, double epsilon,
                   const std::map<std::size_t, tried>& trials) {
    const auto settings = list_trials(which, plan.how);
    tuned_arm out{.arm = which.name, .epsilon = epsilon, .setting = {}};
    if (settings.front().empty()) return out;
    out.settings = settings.size();
    std::optional<std::size_t> best;
    std::optional<double> least;
    for (const auto& [number, one] : trials) {
        if (!one.ended) continue;
        ++out.ended;
        if (one.failed) {
            ++out.failed;
            continue;
        }
        const double mean = *compute_statistic(one.values).mean;
        if (least && !plan.how.compared.prefers(mean, *least)) continue;
        best = number;
        least = mean;
    }
    if (out.ended < out.settings || !best) return out;
    out.chosen = best;
    out.setting = settings[*best];
    out.value = least;
    out.at_edge = is_at_edge(which, out.setting);
    return out;
}

}  // namespace

protocol_plan plan_protocol(protocol how, const resolver& resolve) {
    protocol_plan out{std::move(how), {}, {}, resolve};
    out.what = {"protocol", list_axes(out.how), resolve({})};
    auto& base = out.what.base;
    if (parse_named<semantics>(text_at(base, "privacy.semantics")) != semantics::sound)
        refuse("privacy.semantics: a protocol needs a sound base");
    require_measurable(out.how.compared, base);
    out.trials = trial_cells(out);
    for (auto& one : out.trials) refuse_tested_data(one, resolve_cell(one.run, resolve), base);
    for (const auto epsilon : out.how.epsilons)  // what would be refused after hours is refused now
        for (const auto& which : out.how.arms) {
            auto one =
                test_cell(out, which, {.arm = which.name, .epsilon = epsilon, .setting = {}}, out.how.seeds.front());
            resolve_cell(one.run, resolve);
        }
    base["protocol"] = described(out.how);
    erase_key(base, "privacy.epsilon");
    erase_footing(base, false);
    return out;
}

std::vector<tuned_arm> tune(const protocol_plan& plan, const std::vector<measured_cell>& trials) {
    std::map<std::pair<std::string, double>, std::map<std::size_t, tried>> all;
    for (const auto& one : trials)
        all[{one.where.arm, one.where.epsilon}][*one.where.setting].add(one.result, plan.how.compared);
    std::vector<tuned_arm> out;
    for (const auto epsilon : plan.how.epsilons)
        for (const auto& which : plan.how.arms)
            out.push_back(tune_arm(plan, which, epsilon, all[{which.name, epsilon}]));
    return out;
}

std::vector<protocol_cell> test_cells(const protocol_plan& plan, const std::vector<tuned_arm>& tuned) {
    std::vector<protocol_cell> out;
    std::size_t number = 0;
    for (const auto& one : tuned)
        for (const auto seed : plan.how.seeds) {
            const auto place = number++;
            if (!one.ready()) continue;
            auto made = test_cell(plan, arm_named(plan.how, one.arm), one, seed);
            made.number = place;
            resolve_cell(made.run, plan.resolve);
            out.push_back(std::move(made));
        }
    return out;
}

}  // namespace rldp::eval

#include "eval/research/protocol/protocol.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/guarantee.hpp"

namespace rldp::eval {

namespace {

using json = nlohmann::ordered_json;

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

std::string text_at(const json& configuration, const std::string& key) {
    return value_at(configuration, key).get<std::string>();
}

/// Its overrides: of tuning, the arm's own, what all share, then the setting.
cell make_cell(const protocol_plan& plan, const arm& which, double epsilon, std::int64_t seed, bool trial,
               const arm_setting& setting) {
    cell out{.id = {},
             .at = {{"arm", which.name}, {"epsilon", fmt::format("{}", epsilon)}, {"stage", trial ? "tuning" : "test"}},
             .overrides = {},
             .arm = which.name,
             .epsilon = epsilon,
             .seed = seed,
             .trial = trial};
    auto& all = out.overrides;
    if (trial) append(all, plan.how.tuning.set);
    append(all, which.set);
    all.push_back(fmt::format("privacy.epsilon={}", epsilon));
    append(all, equal_footing(seed, trial || is_synthetic(text_at(plan.what.base, "data.path")), plan.what.base));
    append(all, setting);
    return out;
}

std::vector<cell> trial_cells(const protocol_plan& plan) {
    std::vector<cell> out;
    for (const auto epsilon : plan.how.epsilons)
        for (const auto& which : plan.how.arms) {
            const auto settings = list_trials(which, plan.how);
            if (settings.front().empty()) continue;  // nothing to choose
            for (std::size_t i = 0; i < settings.size(); ++i)
                for (const auto seed : plan.how.tuning.seeds) {
                    auto one = make_cell(plan, which, epsilon, seed, true, settings[i]);
                    one.setting = i;
                    one.number = out.size();
                    one.id = fmt::format("tune-{}-eps{}-setting{}-seed{}", which.name, epsilon, i, seed);
                    out.push_back(std::move(one));
                }
        }
    return out;
}

cell test_cell(const protocol_plan& plan, const arm& which, const tuned_arm& tuned, std::int64_t seed) {
    auto out = make_cell(plan, which, tuned.epsilon, seed, false, tuned.setting);
    const auto setting = tuned.chosen ? fmt::format("-setting{}", *tuned.chosen) : "";
    out.setting = tuned.chosen;
    out.id = fmt::format("{}-eps{}{}-seed{}", which.name, tuned.epsilon, setting, seed);
    out.at["seed"] = std::to_string(seed);
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
void refuse_tested_data(const cell& trial, const json& configuration, const json& base) {
    const auto own = text_at(configuration, "data.path"), tested = text_at(base, "data.path");
    if (is_synthetic(own)) return;
    std::error_code absent;
    if (own == tested || std::filesystem::equivalent(own, tested, absent))
        refuse(
            fmt::format("tuning.set: cell {} would be tuned on {}, the data of the test; set data.path to made-up "
                        "records (synthetic:N) or to a public table",
                        trial.id, own));
}

const arm& arm_named(const protocol& how, const std::string& name) {
    for (const auto& one : how.arms)
        if (one.name == name) return one;
    bug("no arm " + name);
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
    for (auto& one : out.trials) refuse_tested_data(one, resolve_cell(one, resolve), base);
    for (const auto epsilon : out.how.epsilons)  // what would be refused after hours is refused now
        for (const auto& which : out.how.arms) {
            auto one = test_cell(out, which, {.arm = which.name, .epsilon = epsilon}, out.how.seeds.front());
            resolve_cell(one, resolve);
        }
    base["protocol"] = described(out.how);
    erase_key(base, "privacy.epsilon");
    erase_footing(base, false);
    return out;
}

std::vector<tuned_arm> tune(const protocol_plan& plan, const std::vector<measured>& cells) {
    const auto& how = plan.how;
    return tune(how.arms, how.epsilons,
                {.settings = [&](const arm& which) { return list_trials(which, how); },
                 .value = [&](const run_summary& done) { return how.compared.of(done); },
                 .prefers = [&](double one, double other) { return how.compared.prefers(one, other); }},
                cells);
}

std::vector<cell> test_cells(const protocol_plan& plan, const std::vector<tuned_arm>& tuned) {
    std::vector<cell> out;
    std::size_t number = 0;
    for (const auto& one : tuned)
        for (const auto seed : plan.how.seeds) {
            const auto place = number++;
            if (!one.ready()) continue;
            auto made = test_cell(plan, arm_named(plan.how, one.arm), one, seed);
            made.number = place;
            resolve_cell(made, plan.resolve);
            out.push_back(std::move(made));
        }
    return out;
}

experiment make_experiment(const protocol_plan& plan) {
    return {.what = plan.what,
            // Trials of other shards may be missing: their arms wait until they are collected.
            .stages = {[plan](const auto&) { return plan.trials; },
                       [plan](const auto& cells) { return test_cells(plan, tune(plan, cells)); }},
            .report = [plan](std::vector<measured> cells, const std::string& command) -> report_files {
                const auto report = make_report(plan, std::move(cells), command);
                return {protocol_json(report), protocol_csv(report), protocol_html(report), protocol_text(report)};
            }};
}

}  // namespace rldp::eval

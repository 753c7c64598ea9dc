#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/guarantee.hpp"
#include "base/kinds.hpp"
#include "config/methods.hpp"
#include "data/units/corpus.hpp"
#include "eval/experiments/compare_grid.hpp"
#include "eval/experiments/comparison_files.hpp"

namespace rldp::eval {
namespace {

// The base configuration is made for the controller: what it says about noise, statistics and radii is not the
// baselines' and goes back to each method's own default.
arm baseline(const std::string& name, const std::string& sentence, std::vector<std::string> more = {}) {
    const auto method = more.empty() ? "method.name=\"" + name + "\"" : more.front();
    arm out{name, sentence, {method}};
    for (const char* reset :
         {"noise.policy=null", "noise.statistics_share=null", "noise.allocation=null", "rl.state=null",
          "rl.controller=null", "rl.signer=null", "clip.groups=null", "clip.initial=null"})
        out.set.emplace_back(reset);
    if (!more.empty()) out.set.insert(out.set.end(), more.begin() + 1, more.end());
    return out;
}

arm rldp_with(const std::string& name, role part, const std::string& sentence, std::vector<std::string> changes) {
    changes.insert(changes.begin(), "method.name=\"rldp\"");
    return {name, sentence, std::move(changes), {}, part};
}

std::vector<arm> baselines() {
    std::vector<arm> out;
    for (const auto& row : config::methods()) {
        if (row.steered()) continue;
        out.push_back(baseline(row.name, row.sentence));
        if (row.kind == config::method_kind::geoclip)
            out.push_back(baseline("geoclip_block", "GeoClip with one scale per pair, without directions",
                                   {"method.name=\"geoclip\"", "method.rank=0"}));
    }
    return out;
}

std::vector<arm> ours_and_controls() {
    const auto control = [](const std::string& name, const std::string& sentence, std::vector<std::string> changes) {
        return rldp_with(name, role::control, sentence, std::move(changes));
    };
    return {
        rldp_with("rldp", role::ours, "as the base configuration has it; rldp check says who steers", {}),
        rldp_with("rldp_as_published", role::unsound, "the publication's semantics: no guarantee",
                  {"privacy.semantics=\"as_published\"", "privacy.acknowledge_no_guarantee=true", "noise.policy=null",
                   "noise.allocation=null", "rl.rescale=null", "rl.radius_scale=null"}),
        control("rldp_random", "the controller replaced by random actions", {"rl.policy=\"random\""}),
        control("rldp_frozen", "the policy as initialised, never learning", {"rl.policy=\"frozen\""}),
        control("rldp_radii", "radii only, the same noise at each step",
                {"rl.actions=[\"radii\"]", "noise.policy=\"fixed\""}),
        control("rldp_noise", "the order of the noise only", {"rl.actions=[\"noise\"]"}),
        control("rldp_shares", "radii, noise and how the noise is shared among the adapters",
                {"rl.actions=[\"radii\",\"noise\",\"shares\"]", "noise.allocation=\"shares\""}),
        control("rldp_lr", "radii, noise and the learning rate", {"rl.actions=[\"radii\",\"noise\",\"lr\"]"}),
        control("rldp_public_radii", "radii from public data, fixed; the order of the noise is the controller's",
                {"rl.actions=[\"noise\"]", "public.path=\"synthetic:2000\"", "public.use=[\"radii\"]"}),
    };
}

bool belongs(const arm& one, const std::string& word) {
    if (word == "all") return one.part != role::control;
    if (word == "controls") return one.part == role::control;
    return one.name == word;
}

[[noreturn]] void unknown(const std::string& word) {
    std::string names;
    for (const auto& known : compared_methods()) names += ", " + known.name;
    refuse(fmt::format("--methods: {} is not known; choose from all, controls{}", word, names));
}

}  // namespace

const std::vector<arm>& compared_methods() {
    static const auto all = [] {
        auto list = baselines();
        for (auto& one : ours_and_controls()) list.push_back(std::move(one));
        return list;
    }();
    return all;
}

std::vector<arm> methods_from(const std::string& list) {
    std::set<std::string> chosen;
    for (const auto& word : distinct_list("--methods", list)) {
        bool known = false;
        for (const auto& one : compared_methods())
            if (belongs(one, word)) known = true, chosen.insert(one.name);
        if (!known) unknown(word);
    }
    std::vector<arm> out;
    for (const auto& one : compared_methods())
        if (chosen.count(one.name)) out.push_back(one);
    return out;
}

namespace {

using json = nlohmann::ordered_json;

template <class Number>
std::vector<std::string> as_text(const std::vector<Number>& numbers) {
    std::vector<std::string> out;
    for (const auto number : numbers) out.push_back(fmt::format("{}", number));
    return out;
}

// As many records as give the real run's sampling rate, and with it its noise.
std::int64_t tuning_records(const compare_options& given, const json& base) {
    if (given.tune_records) return *given.tune_records;
    const auto path = value_at(base, "data.path").get<std::string>();
    std::int64_t records = default_tuning_records;
    if (is_synthetic(path)) {
        // A number that is none is refused where the records are made.
        std::from_chars(path.data() + synthetic_prefix.size(), path.data() + path.size(), records);
    } else if (const auto population = value_at(base, "privacy.population"); !population.is_null()) {
        records = static_cast<std::int64_t>(std::ceil(population.get<double>() / data::split_rule{}.train()));
    }
    return std::min(records, limits::most_synthetic_records);
}

/// At the base's learning rate.
cell make_cell(const compare_plan& plan, const arm& method, double epsilon, std::int64_t seed, bool trial) {
    cell out{.id = fmt::format("{}{}-eps{}-seed{}", trial ? "tune-" : "", method.name, epsilon, seed),
             .at = {{"method", method.name},
                    {"epsilon", fmt::format("{}", epsilon)},
                    {"stage", trial ? "tuning" : "common"},
                    {trial ? "tune_seed" : "seed", std::to_string(seed)}},
             .overrides = method.set,
             .arm = method.name,
             .epsilon = epsilon,
             .seed = seed,
             .trial = trial};
    out.overrides.push_back(fmt::format("privacy.epsilon={}", epsilon));
    const auto equal = equal_footing(seed, trial || plan.made_up, plan.what.base);
    out.overrides.insert(out.overrides.end(), equal.begin(), equal.end());
    return out;
}

void set_rate(cell& of, std::size_t number, double lr) {
    of.setting = number;
    of.id += fmt::format("-lr{}", lr);
    of.overrides.push_back(fmt::format("train.lr={}", lr));
}

cell make_trial(const compare_plan& plan, const arm& method, double epsilon, std::int64_t seed, std::size_t rate) {
    auto out = make_cell(plan, method, epsilon, seed, true);
    set_rate(out, rate, plan.rates[rate]);
    out.at["tune_lr"] = fmt::format("{}", plan.rates[rate]);
    out.overrides.push_back(fmt::format("data.path=\"{}{}\"", synthetic_prefix, plan.tuning_records));
    out.overrides.emplace_back("data.ids_mapping=null");
    return out;
}

void add_cells(compare_plan& plan) {
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods) {
            for (const auto seed : plan.seeds) plan.common.push_back(make_cell(plan, method, epsilon, seed, false));
            for (std::size_t rate = 0; rate < plan.rates.size(); ++rate)
                for (const auto seed : plan.tune_seeds)
                    plan.trials.push_back(make_trial(plan, method, epsilon, seed, rate));
        }
    std::size_t number = 0;
    for (auto* cells : {&plan.common, &plan.trials})
        for (auto& one : *cells) one.number = number++;
}

std::vector<axis> list_axes(const compare_plan& plan) {
    std::vector<axis> out = {{"method", {}}, {"epsilon", as_text(plan.epsilons)}, {"seed", as_text(plan.seeds)}};
    for (const auto& method : plan.methods) out[0].values.push_back(method.name);
    if (!plan.tunes()) return out;
    out.push_back({"tune_lr", as_text(plan.rates)});
    out.push_back({"tune_seed", as_text(plan.tune_seeds)});
    out.push_back({"tune_records", {std::to_string(plan.tuning_records)}});
    out.push_back({"stage", {"common", "tuning", "tuned"}});
    return out;
}

void check_apart(const compare_plan& plan) {
    for (const auto seed : plan.tune_seeds)
        if (std::find(plan.seeds.begin(), plan.seeds.end(), seed) != plan.seeds.end())
            refuse(fmt::format("--tune-seeds: {} is one of --seeds too; tune on seeds that are not reported", seed));
}

/// A control is beside a controller: where who steers is open, the arm itself may have none, and its controls would.
void check_controls(const std::vector<arm>& chosen, const json& base) {
    const auto control =
        std::find_if(chosen.begin(), chosen.end(), [](const auto& one) { return one.part == role::control; });
    if (control == chosen.end()) return;
    auto steered = base;
    steered["method"] = {{"name", "rldp"}};
    const auto config = config::parse(steered.dump(), "the base configuration", ".");
    if (!config.rl.state && !config::leaves_room_for_a_schedule(config)) return;
    if (config.rl.state && config.rl.state != controller_kind::schedule) return;
    refuse(fmt::format(R"(--methods: {} is a control of a controller; say which one, by rl.state "published" or )"
                       R"("prepared" in the configuration or by --set)",
                       control->name));
}

}  // namespace

compare_plan plan_compare(const compare_options& given, const resolver& resolve) {
    compare_plan plan;
    plan.methods = methods_from(given.methods);
    plan.epsilons = positive_list("--epsilons", given.epsilons);
    plan.seeds = seed_list("--seeds", given.seeds);
    plan.what = {"compare", {}, resolve({})};
    auto& base = plan.what.base;
    if (parse_named<semantics>(value_at(base, "privacy.semantics").get<std::string>()) != semantics::sound)
        refuse("privacy.semantics: compare needs a sound base; rldp_as_published is a method of its own there");
    if (value_at(base, "train.lr").is_null())
        refuse("train.lr: compare puts all methods at one learning rate; give it in the configuration, or by --set");
    check_controls(plan.methods, base);
    plan.base_lr = value_at(base, "train.lr").get<double>();
    plan.made_up = is_synthetic(value_at(base, "data.path").get<std::string>());
    if (!given.tune_lr.empty()) {
        plan.rates = positive_list("--tune-lr", given.tune_lr);
        plan.tune_seeds = seed_list("--tune-seeds", given.tune_seeds);
        plan.tuning_records = tuning_records(given, base);
        check_apart(plan);
        for (auto& method : plan.methods) method.tuned = {{"train.lr", as_text(plan.rates)}};
    }
    add_cells(plan);
    for (auto* cells : {&plan.common, &plan.trials})
        for (auto& one : *cells) resolve_cell(one, resolve);
    plan.what.axes = list_axes(plan);
    for (const char* set : {"method.name", "privacy.epsilon"}) erase_key(base, set);
    erase_footing(base, plan.made_up);
    return plan;
}

std::vector<tuned_arm> tune(const compare_plan& plan, const std::vector<measured>& cells) {
    const auto settings = [](const arm& method) {
        std::vector<arm_setting> out;
        for (const auto& one : method.tuned)
            for (const auto& value : one.values) out.push_back({one.name + "=" + value});
        return out.empty() ? std::vector<arm_setting>{{}} : out;
    };
    const auto value = [](const run_summary& done) { return done.perplexity_after; };
    return tune(plan.methods, plan.epsilons, {settings, value, std::less<double>()}, cells);
}

std::vector<cell> tuned_cells(const compare_plan& plan, const std::vector<tuned_arm>& tuned) {
    std::vector<cell> out;
    for (const auto& one : tuned) {
        if (!one.chosen || plan.rates[*one.chosen] == plan.base_lr) continue;
        for (auto at_own : plan.common) {
            if (at_own.arm != one.arm || at_own.epsilon != one.epsilon) continue;
            at_own.at["stage"] = "tuned";
            set_rate(at_own, *one.chosen, plan.rates[*one.chosen]);
            out.push_back(std::move(at_own));
        }
    }
    return out;
}

experiment make_experiment(const compare_plan& plan) {
    return {.what = plan.what,
            .stages = {[plan](const auto&) { return plan.common; }, [plan](const auto&) { return plan.trials; },
                       [plan](const auto& cells) { return tuned_cells(plan, tune(plan, cells)); }},
            .report = [plan](std::vector<measured> cells, const std::string& command) {
                return to_files(make_report(plan, std::move(cells), command));
            }};
}

}  // namespace rldp::eval

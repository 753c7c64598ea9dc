#include "eval/compare_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "config/error.hpp"
#include "data/corpus.hpp"
#include "eval/cell_settings.hpp"
#include "eval/lists.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view synthetic = "synthetic:";
constexpr std::int64_t most_records = 1'000'000;  // of synthetic:N

template <class Number>
std::vector<std::string> as_text(const std::vector<Number>& numbers) {
    std::vector<std::string> out;
    for (const auto number : numbers) out.push_back(fmt::format("{}", number));
    return out;
}

bool is_synthetic(const std::string& path) {
    return path.starts_with(synthetic);
}

// As many records as give the real run's sampling rate, and with it its noise.
std::int64_t tuning_records(const compare_options& given, const json& base) {
    if (given.tune_records) return *given.tune_records;
    const auto path = value_at(base, "data.path").get<std::string>();
    std::int64_t records = default_tuning_records;
    if (is_synthetic(path)) {
        // A number that is none is refused where the records are made.
        std::from_chars(path.data() + synthetic.size(), path.data() + path.size(), records);
    } else if (const auto population = value_at(base, "privacy.population"); !population.is_null()) {
        records = static_cast<std::int64_t>(std::ceil(population.get<double>() / data::split_rule{}.train()));
    }
    return std::min(records, most_records);
}

// What a cell sets whatever its method is.
std::vector<std::string> overrides_of(const variant& method, double epsilon, std::int64_t seed, const json& base) {
    auto out = method.overrides;
    out.push_back(fmt::format("privacy.epsilon={}", epsilon));
    const auto equal = equal_footing(seed, base);
    out.insert(out.end(), equal.begin(), equal.end());
    return out;
}

compare_cell make_cell(stage when, const variant& method, double epsilon, std::int64_t seed, double lr,
                       const json& base) {
    compare_cell out{{}, when, method.name, epsilon, seed, lr};
    out.run.id = fmt::format("{}{}-eps{}-seed{}", when == stage::tuning ? "tune-" : "", method.name, epsilon, seed);
    out.run.at = {{"method", method.name}, {"epsilon", fmt::format("{}", epsilon)}, {"stage", name_of(when)}};
    out.run.at[when == stage::tuning ? "tune_seed" : "seed"] = std::to_string(seed);
    out.run.overrides = overrides_of(method, epsilon, seed, base);
    if (when != stage::common) {
        out.run.id += fmt::format("-lr{}", lr);
        out.run.overrides.push_back(fmt::format("train.lr={}", lr));
    }
    return out;
}

compare_cell tuning_cell(const compare_plan& plan, const variant& method, double epsilon, std::int64_t seed,
                         double lr) {
    auto out = make_cell(stage::tuning, method, epsilon, seed, lr, plan.what.base);
    out.run.at["tune_lr"] = fmt::format("{}", lr);
    out.run.overrides.push_back(fmt::format("data.path=\"synthetic:{}\"", plan.tuning_records));
    out.run.overrides.emplace_back("data.ids_mapping=null");
    return out;
}

void add_cells(compare_plan& plan) {
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods)
            for (const auto seed : plan.seeds)
                plan.cells.push_back(make_cell(stage::common, method, epsilon, seed, plan.base_lr, plan.what.base));
    for (const auto epsilon : plan.epsilons)
        for (const auto& method : plan.methods)
            for (const auto lr : plan.rates)
                for (const auto seed : plan.tune_seeds)
                    plan.cells.push_back(tuning_cell(plan, method, epsilon, seed, lr));
}

std::vector<axis> axes_of(const compare_plan& plan) {
    std::vector<axis> out = {{"method", {}}, {"epsilon", as_text(plan.epsilons)}, {"seed", as_text(plan.seeds)}};
    for (const auto& method : plan.methods) out[0].values.push_back(method.name);
    if (!plan.tunes()) return out;
    out.push_back({"tune_lr", as_text(plan.rates)});
    out.push_back({"tune_seed", as_text(plan.tune_seeds)});
    out.push_back({"tune_records", {std::to_string(plan.tuning_records)}});
    out.push_back({"stage", {name_of(stage::common), name_of(stage::tuning), name_of(stage::tuned)}});
    return out;
}

void require_apart(const compare_plan& plan) {
    for (const auto seed : plan.tune_seeds)
        if (std::find(plan.seeds.begin(), plan.seeds.end(), seed) != plan.seeds.end())
            refuse(fmt::format("--tune-seeds: {} is one of --seeds too; tune on seeds that are not reported", seed));
}

std::vector<cell> runs_of(const std::vector<compare_cell>& cells) {
    std::vector<cell> out;
    for (const auto& one : cells) out.push_back(one.run);
    return out;
}

}  // namespace

std::string name_of(stage which) {
    return which == stage::common ? "common" : which == stage::tuning ? "tuning" : "tuned";
}

compare_plan plan_compare(const compare_options& given, const resolver& resolve) {
    compare_plan plan;
    plan.methods = methods_from(given.methods);
    plan.epsilons = positive_list("--epsilons", given.epsilons);
    plan.seeds = seed_list("--seeds", given.seeds);
    plan.what = {"compare", {}, resolve({})};
    auto& base = plan.what.base;
    if (value_at(base, "privacy.semantics") != "sound")
        refuse("privacy.semantics: compare needs a sound base; rldp_as_published is a method of its own there");
    plan.base_lr = value_at(base, "train.lr").get<double>();
    plan.made_up = is_synthetic(value_at(base, "data.path").get<std::string>());
    if (!given.tune_lr.empty()) {
        plan.rates = positive_list("--tune-lr", given.tune_lr);
        plan.tune_seeds = seed_list("--tune-seeds", given.tune_seeds);
        plan.tuning_records = tuning_records(given, base);
        require_apart(plan);
    }
    add_cells(plan);
    check_cells(runs_of(plan.cells), resolve);
    plan.what.axes = axes_of(plan);
    for (const char* set : {"method.name", "privacy.epsilon"}) erase_key(base, set);
    erase_footing(base);
    return plan;
}

std::vector<compare_cell> tuned_cells(const compare_plan& plan, const std::vector<chosen_rate>& rates) {
    std::vector<compare_cell> out;
    for (const auto& chosen : rates) {
        if (chosen.lr == plan.base_lr) continue;
        const auto method = std::find_if(plan.methods.begin(), plan.methods.end(),
                                         [&](const auto& one) { return one.name == chosen.method; });
        for (const auto seed : plan.seeds)
            out.push_back(make_cell(stage::tuned, *method, chosen.epsilon, seed, chosen.lr, plan.what.base));
    }
    return out;
}

}  // namespace rldp::eval

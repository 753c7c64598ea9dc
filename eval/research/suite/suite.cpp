// A suite's file, and the cells of each of its beds.
#include "eval/research/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/guarantee.hpp"
#include "base/kinds.hpp"
#include "eval/research/file_parts.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;  // arms and beds are told in the file's order

template <class Named>
bool names(const std::vector<Named>& all, const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
}

std::vector<axis> read_trials(const file_parts& from, const json& object, const std::string& where) {
    auto out = from.axes(object, where);
    for (const auto& one : out)
        if (!config::find_key(one.name)->tunable)
            from.refuse_at(where, one.name +
                                      " may change what a run costs or what it reads, and all runs that a budget "
                                      "pays for are alike in that; rldp tune --help lists what can be tried");
    const auto trials = out.empty() ? 0 : std::ssize(combine(out));
    if (trials < 2 || trials >= most_runs)
        from.refuse_at(where, fmt::format("are {} trials; a budget pays for 2 to {}", trials, most_runs - 1));
    return out;
}

std::vector<arm> read_arms(const file_parts& from, const json& object) {
    if (!object.is_object() || object.size() < 2) from.refuse_at("arms", "must be an object of two arms or more");
    std::vector<arm> out;
    for (const auto& [name, described] : object.items()) {
        const auto where = "arms." + name;
        from.expect_name(name, where);
        from.allow_only(described, where, {"about", "set", "trials"});
        auto& one = out.emplace_back(arm{name, from.get<std::string>(described, where, "about", ""), {}});
        if (described.contains("set")) one.set = from.arm_overrides(described["set"], where + ".set");
        if (described.contains("trials")) one.tuned = read_trials(from, described["trials"], where + ".trials");
    }
    return out;
}

std::vector<bed> read_beds(const file_parts& from, const json& object, const std::string& where,
                           const std::vector<std::string>& set_on_all) {
    if (!object.is_object() || object.empty()) from.refuse_at(where, "must be an object of beds");
    std::vector<bed> out;
    for (const auto& [name, described] : object.items()) {
        const auto here = where + "." + name;
        from.expect_name(name, here);
        from.allow_only(described, here, {"base", "measure", "set"});
        const auto compared = from.get<std::string>(described, here, "measure");
        const auto found = find_measure(compared);
        if (!found || found->which != better::lower)
            from.refuse_at(here + ".measure",
                           fmt::format("is \"{}\"; use perplexity, value_nats or bits_per_byte", compared));
        auto& one = out.emplace_back(
            bed{name, (from.folder() / from.get<std::string>(described, here, "base")).lexically_normal(), *found,
                set_on_all});
        if (described.contains("set"))
            for (auto& text : from.overrides(described["set"], here + ".set")) one.set.push_back(std::move(text));
    }
    return out;
}

suite_part read_part(const file_parts& from, const std::string& name, const json& described, const suite& whole,
                     const std::vector<arm>& arms, const std::vector<std::string>& set_on_all) {
    const auto where = "parts." + name;
    from.allow_only(described, where, {"about", "seeds", "arms", "beds"});
    suite_part out{.name = name,
                   .sentence = from.get<std::string>(described, where, "about", ""),
                   .seeds = from.distinct<std::int64_t>(described, where, "seeds"),
                   .arms = arms,
                   .beds = read_beds(from, from.get<json>(described, where, "beds"), where + ".beds", set_on_all)};
    if (described.contains("arms")) {
        const auto chosen = from.distinct<std::string>(described, where, "arms");
        for (const auto& one : chosen)
            if (!names(arms, one)) from.refuse_at(where + ".arms", fmt::format("\"{}\" is no arm", one));
        std::erase_if(out.arms, [&](const arm& one) { return std::ranges::find(chosen, one.name) == chosen.end(); });
    }
    for (const auto& [key, needed] : {std::pair{"ours", &whole.ours}, {"control", &whole.control}})
        if (!names(out.arms, *needed))
            from.refuse_at(where + ".arms", fmt::format("lack \"{}\", which is {}", *needed, key));
    return out;
}

/// Its overrides: the bed's, the arm's, the seed's, its ε, then the setting that is tried or was chosen.
cell make_cell(const bed_plan& plan, const arm& which, std::int64_t seed, const arm_setting& setting) {
    cell out{.id = fmt::format("{}-seed{}", which.name, seed),
             .at = {{"arm", which.name}, {"seed", std::to_string(seed)}, {"stage", "test"}},
             .overrides = which.set,
             .arm = which.name,
             .seed = seed};
    auto& all = out.overrides;
    const auto append = [&](const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    append(equal_footing(seed, false, plan.what.base));
    if (!which.tuned.empty()) all.push_back(fmt::format("privacy.epsilon={}", plan.epsilon_of_one.at(which.name)));
    append(setting);
    return out;
}

/// A seed's trials lie on one shard, whose last run waits for them.
std::vector<cell> list_trials(const bed_plan& plan) {
    std::vector<cell> out;
    for (const auto& which : plan.part.arms) {
        if (which.tuned.empty()) continue;
        const auto settings = list_settings(which);
        for (std::size_t seed = 0; seed < plan.part.seeds.size(); ++seed)
            for (std::size_t i = 0; i < settings.size(); ++i) {
                auto one = make_cell(plan, which, plan.part.seeds[seed], settings[i]);
                one.id += fmt::format("-trial{}", i + 1);
                one.at["stage"] = "trial";
                one.trial = true;
                one.setting = i;
                one.number = seed;
                out.push_back(std::move(one));
            }
    }
    return out;
}

/// The trial that ended lowest, of equal ones the first; nothing while one of them can still end.
std::optional<std::size_t> choose(const bed_plan& plan, const arm& which, std::int64_t seed,
                                  const std::vector<measured>& cells) {
    std::optional<std::size_t> best;
    double lowest = 0;
    for (const auto& [where, result] : cells) {
        if (!where.trial || where.arm != which.name || where.seed != seed) continue;
        if (result.state != cell_state::done && !result.lost) return std::nullopt;
        const auto end = plan.which.compared.find_final(result);
        if (!end || (best && end->value >= lowest)) continue;
        best = where.setting;
        lowest = end->value;
    }
    return best;
}

std::vector<cell> list_tests(const bed_plan& plan, const std::vector<measured>& cells) {
    std::vector<cell> out;
    const auto& seeds = plan.part.seeds;
    std::size_t number = 0;
    for (std::size_t i = 0; i < seeds.size(); ++i)
        for (const auto& which : plan.part.arms) {
            const auto seed = seeds[i];
            const auto place = which.tuned.empty() ? number++ : i;  // where its trials are
            const auto chosen = which.tuned.empty() ? std::nullopt : choose(plan, which, seed, cells);
            if (!which.tuned.empty() && !chosen) continue;
            auto one = make_cell(plan, which, seed, chosen ? list_settings(which)[*chosen] : arm_setting{});
            if (chosen) one.id += fmt::format("-setting{}", *chosen + 1);
            one.setting = chosen;
            one.number = place;
            resolve_cell(one, plan.resolve);
            out.push_back(std::move(one));
        }
    return out;
}

/// A directory of another suite is not gone on with.
json describe_arms(const bed_plan& plan) {
    json out = {{"measure", plan.which.compared.name}};
    for (const auto& one : plan.part.arms) {
        auto& said = out["arms"][one.name];
        said["set"] = one.set;
        for (const auto& each : one.tuned) said["trials"][each.name] = each.values;
    }
    return out;
}

}  // namespace

suite read_suite(const std::filesystem::path& file) {
    const file_parts from(file);
    const auto& whole = from.whole();
    from.allow_only(whole, "", {"about", "set", "arms", "ours", "control", "parts"});
    suite out;
    out.sentence = from.get<std::string>(whole, "", "about", "");
    out.ours = from.get<std::string>(whole, "", "ours");
    out.control = from.get<std::string>(whole, "", "control");
    const auto arms = read_arms(from, from.get<json>(whole, "", "arms"));
    const auto set = whole.contains("set") ? from.overrides(whole["set"], "set") : std::vector<std::string>{};
    const auto parts = from.get<json>(whole, "", "parts");
    if (!parts.is_object() || parts.empty()) from.refuse_at("parts", "must be an object of parts");
    std::set<std::string> seen;
    for (const auto& [name, described] : parts.items()) {
        const auto& part = out.parts.emplace_back(read_part(from, name, described, out, arms, set));
        for (const auto& one : part.beds)
            if (!seen.insert(one.name).second) from.refuse_at("parts." + name + ".beds", one.name + " is there twice");
    }
    return out;
}

std::vector<arm_setting> list_settings(const arm& which) {
    std::vector<arm_setting> out;
    for (const auto& one : combine(which.tuned)) out.push_back(one.overrides);
    return out;
}

std::int64_t count_runs(const arm& which) {
    return which.tuned.empty() ? 1 : std::ssize(list_settings(which)) + 1;
}

bed_plan plan_bed(const suite_part& part, const bed& which, std::map<std::string, double> epsilon_of_one,
                  const resolver& resolve) {
    bed_plan out{part, which, {}, resolve, std::move(epsilon_of_one)};
    out.what = {"bed", {{"arm", {}}, {"seed", {}}, {"stage", {"trial", "test"}}}, out.resolve({})};
    for (const auto& one : part.arms) out.what.axes[0].values.push_back(one.name);
    for (const auto seed : part.seeds) out.what.axes[1].values.push_back(std::to_string(seed));
    auto& base = out.what.base;
    if (value_at(base, "privacy.semantics") != name_of(semantics::sound))
        refuse(fmt::format("{}: privacy.semantics: a suite needs sound beds", which.base.string()));
    for (const auto& one : part.arms) {  // what would be refused after hours is refused now
        const auto setting = one.tuned.empty() ? arm_setting{} : list_settings(one).front();
        auto first = make_cell(out, one, part.seeds.front(), setting);
        resolve_cell(first, out.resolve);
    }
    base["suite"] = describe_arms(out);
    erase_footing(base, false);
    return out;
}

experiment make_experiment(const bed_plan& plan) {
    return {.what = plan.what,
            // Trials of other shards may be missing: their seeds wait until they are collected.
            .stages = {[plan](const auto&) { return list_trials(plan); },
                       [plan](const auto& cells) { return list_tests(plan, cells); }},
            .report = {}};
}

}  // namespace rldp::eval

#include "eval/grid/sweep/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/base/error.hpp"
#include "config/base/made_up.hpp"
#include "config/schema.hpp"
#include "eval/grid/cell_settings.hpp"
#include "eval/grid/lists.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

axis axis_from(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        refuse(fmt::format("--grid {}: not of the form key=v1,v2; write, for example, --grid rl.batch=4,8", text));
    const auto key = text.substr(0, equals);
    if (!config::find_key(key)) refuse(fmt::format("--grid {}: unknown key; {}", key, config::did_you_mean(key)));
    return {key, distinct_list("--grid " + key, text.substr(equals + 1))};
}

std::vector<axis> axes_from(const std::vector<std::string>& keys) {
    std::vector<axis> axes;
    for (const auto& text : keys) {
        auto one = axis_from(text);
        for (const auto& other : axes)
            if (other.name == one.name)
                refuse(fmt::format("--grid {}: is given twice; list all its values at once", one.name));
        axes.push_back(std::move(one));
    }
    if (axes.empty()) refuse("sweep: give at least one --grid key=v1,v2");
    return axes;
}

// Every combination, the last axis fastest; of the run only the values and a first name.
std::vector<sweep_cell> combinations(const std::vector<axis>& axes) {
    std::vector<sweep_cell> all(1);
    for (const auto& one : axes) {
        std::vector<sweep_cell> longer;
        for (const auto& begun : all)
            for (const auto& value : one.values) {
                auto next = begun;
                const auto comma = begun.setting.empty() ? "" : ",";
                next.setting += comma + one.name + "=" + value;
                next.run.id += comma + one.name + "=" + as_file_name(value);
                next.run.at[one.name] = value;
                next.run.overrides.push_back(one.name + "=" + value);
                longer.push_back(std::move(next));
            }
        all = std::move(longer);
    }
    return all;
}

// A file name that no other cell has: what would be cut or doubled is told apart by its place in the grid.
std::string unique_name(std::string name, const std::string& seed, std::size_t place, std::set<std::string>& taken) {
    constexpr std::size_t longest = 150;  // bytes; file systems take 255, and files beside the cell get longer names
    if (name.size() > longest) name = fmt::format("{}.cell{}", name.substr(0, longest), place);
    name += seed;
    if (!taken.insert(name).second) taken.insert(name += fmt::format(".cell{}", place));
    return name;
}

void add_cells(sweep_plan& plan, const std::vector<axis>& axes) {
    std::set<std::string> taken;
    for (const auto& setting : combinations(axes)) {
        plan.settings.push_back(setting.setting);
        const auto add = [&](std::optional<std::int64_t> seed) {
            auto one = setting;
            one.seed = seed;
            const auto suffix = seed ? fmt::format(",seed={}", *seed) : "";
            one.run.id = unique_name(setting.run.id, suffix, plan.cells.size(), taken);
            one.number = plan.cells.size();
            plan.cells.push_back(std::move(one));
        };
        if (plan.seeds.empty()) add({});
        for (const auto seed : plan.seeds) add(seed);
    }
}

void set_footing(sweep_plan& plan) {
    for (auto& one : plan.cells) {
        auto& overrides = one.run.overrides;
        if (!one.seed) {
            overrides.emplace_back("monitor.address=null");
            continue;
        }
        one.run.at["seed"] = std::to_string(*one.seed);
        // Before the cell's own: a grid over train.eval_records has its way.
        const auto equal = equal_footing(*one.seed, plan.made_up, plan.what.base);
        overrides.insert(overrides.begin(), equal.begin(), equal.end());
    }
}

}  // namespace

sweep_plan plan_sweep(const std::vector<std::string>& keys, const std::string& seeds, const resolver& resolve) {
    sweep_plan plan;
    const auto axes = axes_from(keys);
    for (const auto& one : axes) plan.keys.push_back(one.name);
    if (!seeds.empty()) plan.seeds = seed_list("--seeds", seeds);
    plan.what = {"sweep", axes, resolve({})};
    plan.made_up = is_synthetic(value_at(plan.what.base, "data.path").get<std::string>());
    if (!plan.seeds.empty())
        for (const auto& set : footing_keys(plan.made_up))
            if (std::find(plan.keys.begin(), plan.keys.end(), set) != plan.keys.end())
                refuse(fmt::format("--grid {}: --seeds sets that key; leave one of the two away", set));
    add_cells(plan, axes);
    set_footing(plan);
    for (auto& one : plan.cells) resolve_cell(one.run, resolve);
    for (const auto& key : plan.keys) erase_key(plan.what.base, key);
    erase_key(plan.what.base, "monitor.address");
    if (!plan.seeds.empty()) {
        erase_footing(plan.what.base, plan.made_up);
        axis seed{"seed", {}};
        for (const auto value : plan.seeds) seed.values.push_back(std::to_string(value));
        plan.what.axes.push_back(seed);
    }
    return plan;
}

}  // namespace rldp::eval

#include "eval/research/preparation/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/config.hpp"
#include "eval/research/file_parts.hpp"
#include "eval/research/preparation/real_runs.hpp"

namespace rldp::eval {

namespace {

using json = nlohmann::ordered_json;

/// Keys that a task sets itself, or that mean other records or another method.
bool is_the_tasks_own(const std::string& key) {
    return key.starts_with("data.path") || key.starts_with("rl.") || key == "seed" || key == "data.split_seed" ||
           key == "train.lr" || (key.starts_with("noise.") && key != "noise.bands") || key.starts_with("method.") ||
           key.starts_with("audit.");
}

class preparation_reader {
  public:
    explicit preparation_reader(const std::filesystem::path& file) : from_(file) {}

    preparation_file read() const {
        const auto& whole = from_.whole();
        from_.allow_only(whole, "", {"about", "seed", "quadratics", "runs"});
        preparation_file out;
        out.seed = static_cast<std::uint64_t>(number(whole, "", "seed", 0, 1'000'000'000));
        out.quadratics = made_up(from_.get<json>(whole, "", "quadratics"), "quadratics");
        out.quadratics.seed = out.seed;
        out.runs = runs(from_.get<json>(whole, "", "runs"), out.seed);
        return out;
    }

  private:
    std::int64_t number(const json& object, const std::string& where, const std::string& key, std::int64_t least,
                        std::int64_t most) const {
        const auto found = from_.get<std::int64_t>(object, where, key);
        if (found < least || found > most)
            from_.refuse_at(where.empty() ? key : where + "." + key,
                            fmt::format("is {}; give a whole number in [{}, {}]", found, least, most));
        return found;
    }
    std::size_t count(const json& object, const std::string& where, const std::string& key, std::int64_t least) const {
        return static_cast<std::size_t>(number(object, where, key, least, 1'000'000));
    }
    double factor(const json& object, const std::string& where, const std::string& key, double least,
                  double most) const {
        const auto found = from_.get<double>(object, where, key);
        if (found < least || found > most)
            from_.refuse_at(where + "." + key, fmt::format("is {}; give a number in [{}, {}]", found, least, most));
        return found;
    }

    rl::preparation_config made_up(const json& object, const std::string& where) const {
        from_.allow_only(object, where,
                         {"offset", "held_out", "tasks", "gate_tasks", "generations", "rounds", "learner"});
        rl::preparation_config out;
        out.offset = factor(object, where, "offset", 1, 100);
        out.held_out = from_.distinct<std::string>(object, where, "held_out");
        out.tasks = count(object, where, "tasks", 2);
        out.gate_tasks = out.validation_tasks = count(object, where, "gate_tasks", 2);
        out.search.generations = count(object, where, "generations", 1);
        out.refinement.rounds = count(object, where, "rounds", 0);
        if (object.contains("learner")) {
            const auto learner = from_.get<std::string>(object, where, "learner");
            if (learner == "ppo")
                out.refinement.learner = rl::residual_ppo_config{};
            else if (learner != "sac")
                from_.refuse_at(where + ".learner", fmt::format("is \"{}\"; give sac or ppo", learner));
        }
        return out;
    }

    run_preparation runs(const json& object, std::uint64_t seed) const {
        const std::string where = "runs";
        from_.allow_only(object, where,
                         {"offset", "generations", "population", "tasks", "validation_tasks", "gate_tasks", "gate_seed",
                          "families", "held_out"});
        run_preparation out;
        out.offset = factor(object, where, "offset", 1, 100);
        out.generations = count(object, where, "generations", 0);
        out.population = count(object, where, "population", 4);
        out.tasks = count(object, where, "tasks", 1);
        out.gate_tasks = count(object, where, "gate_tasks", 2);
        out.validation_tasks =
            object.contains("validation_tasks") ? count(object, where, "validation_tasks", 2) : out.gate_tasks;
        out.gate_seed = object.contains("gate_seed")
                            ? static_cast<std::uint64_t>(number(object, where, "gate_seed", 0, 1'000'000'000))
                            : seed;
        const auto held_out = from_.distinct<std::string>(object, where, "held_out");
        const auto families = from_.get<json>(object, where, "families");
        if (!families.is_object()) from_.refuse_at("runs.families", "must be an object of families");
        for (const auto& name : held_out)
            if (!families.contains(name)) from_.refuse_at("runs.held_out", name + " is no family");
        for (const auto& [name, described] : families.items()) {
            const bool held = std::find(held_out.begin(), held_out.end(), name) != held_out.end();
            (held ? out.held_out : out.prepared).push_back(family(name, described));
        }
        if (out.prepared.empty()) from_.refuse_at("runs.held_out", "leaves no family to prepare on");
        for (const auto* side : {&out.prepared, &out.held_out})
            for (const auto& one : *side) check(one, out);
        return out;
    }

    /// That its tasks are sound configurations, before hours are spent on others: one task, and each drawn value.
    void check(const run_family& one, const run_preparation& terms) const {
        const auto where = "runs.families." + one.name;
        const auto loaded = [&](const std::vector<std::string>& more) {
            try {
                auto set = draw_runs({one}, terms, 1, 0, 1).front().set;
                set.emplace_back("rl.controller=policy");
                set.insert(set.end(), more.begin(), more.end());
                return config::load(one.base, set);
            } catch (const error& reason) {
                from_.refuse_at(where, fmt::format("its tasks are no sound configurations: {}", reason.what()));
            }
        };
        const auto whole = loaded({});
        for (const auto& key : one.drawn)
            for (const auto& value : key.values) loaded({key.name + "=" + value});
        if (!whole.train.steps)
            from_.refuse_at(where, "leaves train.steps open, on which its blocks depend; set or draw it");
        if (!whole.noise.bands)
            from_.refuse_at(where, "leaves noise.bands open, on which its rate depends; set or draw it");
        if (whole.public_data.path && !whole.public_data.path->starts_with("synthetic:"))
            from_.refuse_at(where, fmt::format("its base reads public.path {}; a preparation is for no one's records",
                                               *whole.public_data.path));
    }

    run_family family(const std::string& name, const json& object) const {
        const auto where = "runs.families." + name;
        from_.expect_name(name, where);
        from_.allow_only(object, where, {"base", "records", "template", "set", "draw"});
        run_family out{.name = name, .base = {}, .set = {}, .drawn = {}};
        if (object.contains("template")) {
            if (from_.get<std::string>(object, where, "template") != "random")
                from_.refuse_at(where + ".template", "can be \"random\" alone; a file is data.template, under set");
            out.random_template = true;
        }
        out.base = (from_.folder() / from_.get<std::string>(object, where, "base")).lexically_normal();
        out.records = number(object, where, "records", 100, 1'000'000);
        const auto refuse_own = [&](const std::string& key, const std::string& place) {
            if (is_the_tasks_own(key) || (out.random_template && key == "data.template"))
                from_.refuse_at(place, key + " is set for every task by the preparation itself");
        };
        if (object.contains("set"))
            for (const auto& [key, value] : object["set"].items()) {
                refuse_own(key, where + ".set");
                out.set.push_back(key + "=" + from_.valid(key, value, where + ".set"));
            }
        if (object.contains("draw"))
            for (const auto& [key, values] : object["draw"].items()) {
                refuse_own(key, where + ".draw");
                out.drawn.push_back(from_.values_of(key, values, where + ".draw"));
            }
        return out;
    }

    file_parts from_;
};

}  // namespace

preparation_file read_preparation(const std::filesystem::path& file) {
    return preparation_reader(file).read();
}

}  // namespace rldp::eval

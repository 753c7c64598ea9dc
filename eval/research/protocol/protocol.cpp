#include "eval/research/protocol/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"
#include "eval/research/file_parts.hpp"

namespace rldp::eval {

namespace {

using json = nlohmann::ordered_json;  // arms are told in the file's order

constexpr std::size_t most_combinations = 100'000;  // of one arm's axes

std::string parse_key(const std::string& override_text) {
    return override_text.substr(0, override_text.find('='));
}

std::size_t count_combinations(const std::vector<axis>& axes) {
    std::size_t out = 1;
    for (const auto& one : axes) {
        if (one.values.size() > most_combinations / out) return most_combinations + 1;
        out *= one.values.size();
    }
    return out;
}

arm read_arm(const file_parts& from, const std::string& name, const json& described, const std::vector<axis>& axes) {
    const auto where = "arms." + name;
    from.expect_name(name, where);
    from.allow_only(described, where, {"about", "set", "not_tuned"});
    arm out{name, from.get<std::string>(described, where, "about", ""), {}, axes};
    for (const auto& key : from.get<std::vector<std::string>>(described, where, "not_tuned", {}))
        if (std::erase_if(out.tuned, [&](const axis& each) { return each.name == key; }) == 0)
            from.refuse_at(where + ".not_tuned", key + " is no key of tuning.axes");
    if (count_combinations(out.tuned) > most_combinations)
        from.refuse_at("tuning.axes", fmt::format("have more than {} combinations", most_combinations));
    if (!described.contains("set")) return out;
    out.set = from.arm_overrides(described["set"], where + ".set");
    for (const auto& text : out.set) {
        if (std::any_of(out.tuned.begin(), out.tuned.end(),
                        [&](const axis& one) { return one.name == parse_key(text); }))
            from.refuse_at(where + ".set", parse_key(text) + " is tuned; name it under not_tuned to set it here");
    }
    return out;
}

std::vector<arm> read_arms(const file_parts& from, const json& object, const std::vector<axis>& axes) {
    if (!object.is_object() || object.size() < 2) from.refuse_at("arms", "must be an object of two arms or more");
    std::vector<arm> out;
    for (const auto& [name, described] : object.items()) out.push_back(read_arm(from, name, described, axes));
    return out;
}

/// All but the axes.
void read_tuning(const file_parts& from, const json& object, protocol& into) {
    from.allow_only(object, "tuning", {"set", "seeds", "trials", "draw", "axes"});
    auto& tuning = into.tuning;
    if (object.contains("set")) tuning.set = from.overrides(object["set"], "tuning.set");
    tuning.seeds = from.distinct<std::int64_t>(object, "tuning", "seeds");
    tuning.trials = from.get<std::int64_t>(object, "tuning", "trials");
    tuning.draw = from.get<std::int64_t>(object, "tuning", "draw", 0);
    if (tuning.trials < 1) from.refuse_at("tuning.trials", "must be 1 or more");
    for (const auto seed : tuning.seeds)
        if (std::find(into.seeds.begin(), into.seeds.end(), seed) != into.seeds.end())
            from.refuse_at("tuning.seeds",
                           fmt::format("{} is one of seeds too; tune on seeds that are not tested", seed));
}

void refuse_tuned_twice(const file_parts& from, const protocol& read, const std::vector<axis>& axes) {
    for (const auto& text : read.tuning.set)
        if (std::any_of(axes.begin(), axes.end(), [&](const axis& one) { return one.name == parse_key(text); }))
            from.refuse_at("tuning.set", parse_key(text) + " is one of tuning.axes too");
}

}  // namespace

std::optional<measure> find_measure(std::string_view name) {
    for (const auto* known : {"perplexity", "value_nats", "bits_per_byte"})
        if (name == known) return measure{known, better::lower};
    for (const auto* known : {"auc", "accuracy"})
        if (name == known) return measure{known, better::higher};
    return std::nullopt;
}

std::optional<measure::final_value> measure::find_final(const cell_result& result) const {
    if (result.state != cell_state::done || !result.summary) return std::nullopt;
    const auto end = of(*result.summary), at_first = before(*result.summary);
    if (end && std::isfinite(*end)) return final_value{*end, false};
    if (at_first && std::isfinite(*at_first)) return final_value{*at_first, true};
    return std::nullopt;
}

std::optional<double> measure::of(const run_summary& done) const {
    if (name == "perplexity") return done.perplexity_after;
    if (name == "value_nats") return done.value_nats_after;
    if (name == "bits_per_byte") return done.bits_per_byte_after;
    if (!done.target) return std::nullopt;
    return name == "auc" ? done.target->auc_after : done.target->accuracy_after;
}

std::optional<double> measure::before(const run_summary& done) const {
    if (name == "perplexity") return done.perplexity_before;
    if (name == "value_nats") return done.value_nats_before;
    if (name == "bits_per_byte") return done.bits_per_byte_before;
    if (!done.target) return std::nullopt;
    return name == "auc" ? done.target->auc_before : done.target->accuracy_before;
}

std::optional<double> measure::of(const metrics_line& line) const {
    if (name == "perplexity") return line.eval_perplexity;
    if (name == "value_nats") return line.eval_value_nats;
    return std::nullopt;
}

double protocol::least_p() const {
    // All signs one way, and all the other: two of 2^seeds (paired_permutation()); Holm multiplies the least by all.
    const double alone = std::ldexp(2.0, -static_cast<int>(std::min<std::size_t>(seeds.size(), 1000)));
    return std::min(1.0, static_cast<double>(arms.size() - 1) * alone);
}

protocol read_protocol(const std::filesystem::path& file) {
    const file_parts from(file);
    const auto& whole = from.whole();
    from.allow_only(whole, "", {"about", "base", "measure", "epsilons", "seeds", "arms", "tuning", "ours"});
    protocol out;
    out.sentence = from.get<std::string>(whole, "", "about", "");
    out.base = (file.parent_path() / from.get<std::string>(whole, "", "base")).lexically_normal();
    const auto compared = from.get<std::string>(whole, "", "measure");
    if (!find_measure(compared))
        from.refuse_at("measure", fmt::format("\"{}\" is unknown; use {}", compared, measure_names));
    out.compared = *find_measure(compared);
    out.epsilons = from.distinct<double>(whole, "", "epsilons");
    out.seeds = from.distinct<std::int64_t>(whole, "", "seeds");
    std::vector<axis> axes;
    if (whole.contains("tuning")) {
        read_tuning(from, whole["tuning"], out);
        axes = from.axes(from.get<json>(whole["tuning"], "tuning", "axes"), "tuning.axes");
        refuse_tuned_twice(from, out, axes);
    }
    out.arms = read_arms(from, from.get<json>(whole, "", "arms"), axes);
    out.ours = from.get<std::string>(whole, "", "ours");
    if (std::none_of(out.arms.begin(), out.arms.end(), [&](const arm& one) { return one.name == out.ours; }))
        from.refuse_at("ours", fmt::format("\"{}\" is no arm", out.ours));
    return out;
}

std::vector<arm_setting> list_trials(const arm& which, const protocol& of) {
    if (of.tuning.trials == 0 || which.tuned.empty()) return {{}};
    std::vector<std::size_t> order(count_combinations(which.tuned));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto count = std::min(order.size(), static_cast<std::size_t>(of.tuning.trials));
    std::mt19937_64 random(static_cast<std::uint64_t>(of.tuning.draw));
    for (std::size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random() % (order.size() - i)]);
    std::vector<arm_setting> out;
    for (std::size_t i = 0; i < count; ++i) {
        auto& setting = out.emplace_back();
        auto place = order[i];
        for (const auto& one : which.tuned) {
            setting.push_back(one.name + "=" + one.values[place % one.values.size()]);
            place /= one.values.size();
        }
    }
    return out;
}

}  // namespace rldp::eval

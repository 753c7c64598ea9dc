#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/checkpoint.hpp"
#include "run/looks.hpp"
#include "run/outcome.hpp"

namespace rldp::actors {

void evaluations::add(std::int64_t step, const eval::scores& found) {
    if (step == 0) before = found;
    last = found;
    if (!best || found.perplexity < best->perplexity) best = found;
}

namespace {

using json = nlohmann::ordered_json;

const std::string looks_kind = "looks";

/// A figure and its interval, both within what it can be: noise goes beyond, the truth does not.
struct bounded_figure {
    double value;
    eval::interval in;
};
bounded_figure bound(const privacy::noised_figure& figure, double most) {
    const auto within = [&](double value) { return std::clamp(value, 0.0, most); };
    return {within(figure.value), {within(figure.value - figure.within), within(figure.value + figure.within)}};
}

}  // namespace

look_rule make_look_rule(const config::run_spec& spec, std::int64_t vocabulary) {
    look_rule out;
    if (spec.train.looks == 0) return out;
    out.reach = spec.train.look_clip;
    out.evenly = std::log(static_cast<double>(vocabulary));
    out.values = spec.data.narrative.has_value() && !spec.data.chat;
    out.hits = spec.target && spec.classes;
    return out;
}

privacy::look_frame make_frame(const look_rule& rule, const std::optional<privacy::look_release>& before) {
    privacy::look_frame out;
    out.nats = {rule.evenly / 2, rule.reach};
    if (rule.values) out.value_token_nats = out.nats;
    out.hits = rule.hits;
    if (!before) return out;
    const auto found = privacy::decode_figures(*before);
    const auto halfway = [&](double before_it) { return std::clamp(before_it, 0.0, rule.evenly) / 2; };
    out.nats.centre = halfway(found.nats.value);
    if (out.value_token_nats && found.value_token_nats)
        out.value_token_nats->centre = halfway(found.value_token_nats->value);
    return out;
}

eval::scores to_scores(const privacy::look_figures& figures) {
    eval::scores out;
    const auto nats = bound(figures.nats, HUGE_VAL);
    out.perplexity = std::exp(nats.value);
    out.perplexity_in = {std::exp(nats.in.low), std::exp(nats.in.high)};
    if (figures.value_token_nats) {
        const auto found = bound(*figures.value_token_nats, HUGE_VAL);
        out.value_token_nats = found.value;
        out.value_token_nats_in = found.in;
    }
    if (figures.hits) {
        const auto found = bound(*figures.hits, 1);
        out.accuracy = found.value;
        out.accuracy_in = found.in;
    }
    return out;
}

void add_looks(std::vector<eval::metrics_line>& to, const std::vector<privacy::look_release>& found,
               const std::string& header_hash) {
    for (const auto& look : found) {
        const auto step = look.charged->step;
        auto at = std::find_if(to.begin(), to.end(), [&](const auto& line) { return line.step >= step; });
        if (at == to.end() || at->step != step) {  // step 0, which no charge makes a line of
            at = to.insert(at, eval::metrics_line{});
            at->step = step;
            at->ledger = header_hash;
        }
        put(*at, to_scores(privacy::decode_figures(look)));
    }
}

std::vector<privacy::look_release> looks_log::read(const std::filesystem::path& path, const privacy::file_seal& seal,
                                                   const privacy::ledger_content& ledger) {
    if (!std::filesystem::exists(path)) return {};
    std::map<std::int64_t, privacy::look_release> in_order;
    for (const auto& [name, text] : read_sealed(path, looks_kind, seal).texts) {
        if (!name.starts_with("look ")) continue;
        try {
            auto look = privacy::look_from(text, ledger);
            in_order.emplace(look.charged->look, std::move(look));
        } catch (const error& wrong) {
            refuse(
                fmt::format("{}: {}: {}; ledger and looks are of different runs, or one was cut: bring back the run's "
                            "own",
                            path.string(), name, wrong.what()));
        }
    }
    std::vector<privacy::look_release> out;
    for (auto& [number, look] : in_order) out.push_back(std::move(look));
    return out;
}

void looks_log::append(const privacy::look_release& made) {
    made_.push_back(made);
    sealed_tensors all;
    for (const auto& look : made_) all.texts[fmt::format("look {}", look.charged->look)] = privacy::to_json(look);
    write_sealed(path_, looks_kind, std::move(all), seal_);
}

owner_figures::owner_figures(std::filesystem::path path) : path_(std::move(path)) {}

namespace {

json read_figures(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) {
        auto found = json::parse(read_file(path), nullptr, false);
        if (found.is_object() && found.contains("evaluations")) return found;
    }
    return {{"for", "the owner of the data alone: exact figures of held-out units, without noise"},
            {"evaluations", json::array()}};
}

void put(json& out, const char* key, const std::optional<double>& value) {
    if (value) out[key] = eval::json_number(*value);
}

void write(const std::filesystem::path& path, const json& all) {
    write_file(path, all.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace

void owner_figures::add(std::int64_t step, const eval::scores& exact, const std::optional<look_notes>& look) {
    auto all = read_figures(path_);
    json one = {{"step", step}, {"perplexity", eval::json_number(exact.perplexity)}};
    put(one, "value_nats", exact.value_nats);
    put(one, "bits_per_byte", exact.bits_per_byte);
    if (look) {
        one["units"] = look->units;
        one["units_clipped"] = look->shortened;
        one["nats_per_unit"] = eval::json_number(look->nats);
    }
    auto& list = all["evaluations"];
    list.erase(std::remove_if(list.begin(), list.end(), [&](const auto& other) { return other.at("step") == step; }),
               list.end());
    list.push_back(std::move(one));
    write(path_, all);
}

eval::run_summary::target_scores to_scores(const predictions& found) {
    return {.column = found.column,
            .auc_before = found.before.auc,
            .auc_after = found.after.auc,
            .accuracy_before = found.before.accuracy,
            .accuracy_after = found.after.accuracy,
            .auc_before_in = found.before.auc_in,
            .auc_after_in = found.after.auc_in,
            .records = found.after.records};
}

void owner_figures::end(const eval::floors& floors, const std::optional<predictions>& predicted) {
    auto all = read_figures(path_);
    put(all, "template_perplexity", floors.template_perplexity);
    put(all, "marginal_nats", floors.marginal_nats);
    if (predicted) all["target"] = eval::to_json(to_scores(*predicted));
    write(path_, all);
}

}  // namespace rldp::actors

#include "app/bands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/words.hpp"
#include "base/error.hpp"
#include "base/output.hpp"

namespace rldp::app {

namespace {

constexpr std::string_view open_bands = "open";

nlohmann::ordered_json describe_error(const privacy::prefix_error& error) {
    return {{"mean_squared", error.mean_squared}, {"last_squared", error.last_squared}};
}

}  // namespace

void add_bands_options(CLI::App& command, bands_arguments& given) {
    command.add_option("--bands", given.bands,
                       "noise correlated over so many steps (docs/privacy.md §14), or open: as many as pay");
    command.add_option("--population", given.population, "N, with --bands: groups of fewer than 10 units are refused");
}

std::optional<std::int64_t> read_population(const bands_arguments& given) {
    if (given.population.empty()) return std::nullopt;
    if (given.bands.empty()) refuse("--population: goes with --bands; leave it out");
    return parse_count("--population", given.population);
}

std::optional<given_bands> read_bands(const bands_arguments& given, const privacy::banded_plan& plan,
                                      const privacy::accountant& with, double epsilon, double delta) {
    if (given.bands.empty()) return std::nullopt;
    if (given.bands == open_bands) {
        auto chosen = privacy::choose_bands(with, plan, epsilon, delta);
        return given_bands{chosen.bands, std::move(chosen.reason)};
    }
    const auto bands = parse_count("--bands", given.bands);
    privacy::check_bands(bands, plan, "--bands");
    return given_bands{bands, std::nullopt};
}

nlohmann::ordered_json describe_bands(const given_bands& of, const privacy::banded_plan& plan) {
    const auto rounds = privacy::to_rounds(of.bands, 1, plan.sample_rate, plan.steps);
    const auto matrix = privacy::make_bands(of.bands, plan.steps);
    nlohmann::ordered_json out{{"bands", of.bands},
                               {"rounds", rounds.steps},
                               {"group_sample_rate", rounds.sample_rate},
                               {"coefficients", matrix},
                               {"error", describe_error(privacy::compute_prefix_error(matrix, plan.steps))},
                               {"independent_error", describe_error(privacy::compute_prefix_error({1}, plan.steps))}};
    if (of.reason) out["reason"] = *of.reason;
    return out;
}

void print_bands(const nlohmann::ordered_json& described) {
    const auto root = [&](const char* of) { return std::sqrt(described.at(of).at("mean_squared").get<double>()); };
    say("{} band(s): {} round(s) at sample rate {}; at one multiplier prefix sums have {} of independent noise\n",
        described.at("bands").get<std::int64_t>(), described.at("rounds").get<std::int64_t>(),
        show(described.at("group_sample_rate").get<double>()), show(root("error") / root("independent_error")));
    if (described.contains("reason")) say("chosen: {}\n", described.at("reason").get<std::string>());
}

}  // namespace rldp::app

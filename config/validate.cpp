#include "config/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "config/base/error.hpp"
#include "config/method_choices.hpp"
#include "config/schema.hpp"

namespace rldp::config {

namespace {

using finding = std::optional<std::string>;

bool acts_on(const run_config& config, const std::string& dial) {
    const auto& actions = config.rl.actions;
    return std::find(actions.begin(), actions.end(), dial) != actions.end();
}

/// Every member within the range of its key, also where the configuration was not read from JSON.
finding ranges(const run_config& config) {
    for (const auto& key : schema()) {
        run_config scratch;
        const auto value = key.write(config);
        if (!key.read(value, {}, scratch))
            return fmt::format("{} is {}; give {}", key.path, shown(value), key.expectation);
    }
    return {};
}

finding contract(const run_config& config) {
    const auto& privacy = config.privacy;
    const bool sound = privacy.semantics == semantics::sound;
    if (!sound && !privacy.acknowledge_no_guarantee)
        return R"(privacy.semantics "as_published" guarantees nothing; set privacy.acknowledge_no_guarantee to true, or )"
               R"(use "sound")";
    if (!sound && !is_steered(config))
        return fmt::format(R"(privacy.semantics "as_published" reproduces method rldp; method.name is "{}")",
                           config.method.name);
    if (!sound && (config.noise.policy || config.noise.allocation != noise_section{}.allocation))
        return "noise.policy and noise.allocation have no part in as_published, which has its own; leave them out";
    if (sound && privacy.accountant == "gdp_clt")
        return R"(privacy.accountant "gdp_clt" is no upper bound and can't enforce a budget; use "pld" or "rdp")";
    if (privacy.population && config.train.expected_batch_size > *privacy.population)
        return fmt::format(
            "train.expected_batch_size is {}, above privacy.population {}; the sampling rate can't exceed 1",
            config.train.expected_batch_size, *privacy.population);
    return {};
}

finding precision(const run_config& config) {
    if (config.model.dtype == "tf32" && config.device != "cuda")
        return R"(model.dtype "tf32" is a precision of CUDA devices; use "float32", or device "cuda")";
    return {};
}

/// Keys of a method that is not the one chosen do nothing: they are refused.
finding method_keys(const run_config& config) {
    const auto& method = config.method;
    const std::tuple<bool, const char*, std::vector<std::string>> keys[] = {
        {method.quantile.has_value(), "quantile", {"autoclip_quantile", "dcsgd_p"}},
        {method.query_noise.has_value(), "query_noise", {"autoclip_quantile", "dcsgd_p", "dcsgd_e"}},
        {method.stabiliser.has_value(), "stabiliser", {"auto_s", "psac"}},
        {method.rank.has_value(), "rank", {"geoclip"}}};
    for (const auto& [given, key, users] : keys)
        if (given && std::find(users.begin(), users.end(), method.name) == users.end())
            return fmt::format("method.{} has no meaning for method {}, only for {}; leave it out", key, method.name,
                               fmt::join(users, ", "));
    return {};
}

finding unsteered(const run_config& config) {
    const auto& name = config.method.name;
    const auto choices = choices_of(config);
    if (choices.statistics_share != 0)
        return fmt::format("noise.statistics_share is {}, but method {} uses no statistics; give 0 or leave it out",
                           choices.statistics_share, name);
    if (choices.policy != "fixed")
        return fmt::format(
            R"(noise.policy is "{}", but method {} has no controller to choose the noise; give "fixed" or )"
            R"(leave it out)",
            choices.policy, name);
    if (config.noise.allocation == "shares")
        return fmt::format(R"(noise.allocation is "shares", but method {} has no controller to set them; give )"
                           R"("proportional")",
                           name);
    if (config.clip.public_data)
        return fmt::format("clip.public_data sets the radii of method rldp only; method {} has its own", name);
    const bool by_factor = name == "dp_lora" || name == "dp_lora_literal";
    if (by_factor && choices.groups != "factors")
        return fmt::format(R"(clip.groups is "{}", but method {} clips A and B apart: give "factors" or leave it out)",
                           choices.groups, name);
    const bool any_groups = name == "static" || name == "auto_s" || name == "psac";
    if (!by_factor && !any_groups && choices.groups != "flat")
        return fmt::format(
            R"(clip.groups is "{}", but method {} clips the whole gradient as one: give "flat" or leave )"
            R"(it out)",
            choices.groups, name);
    return {};
}

finding steered(const run_config& config) {
    const auto choices = choices_of(config);
    if (choices.statistics_share == 0 && config.privacy.semantics == semantics::sound)
        return "noise.statistics_share is 0, but method rldp steers by the statistics it pays for; give 0.02, or use "
               "method.name static";
    if (acts_on(config, "shares") && config.noise.allocation != "shares")
        return fmt::format(R"(rl.actions has "shares", but noise.allocation is "{}"; set noise.allocation to "shares")",
                           config.noise.allocation);
    if (config.rl.replay < config.rl.batch)
        return fmt::format("rl.replay is {}, below rl.batch {}; no update could ever run", config.rl.replay,
                           config.rl.batch);
    return {};
}

finding method(const run_config& config) {
    return is_steered(config) ? steered(config) : unsteered(config);
}

finding sizes(const run_config& config) {
    const auto& clip = config.clip;
    const double initial = choices_of(config).initial_radius;
    if (!(clip.min <= initial && initial <= clip.max))
        return fmt::format("clip.initial is {}, outside [clip.min, clip.max] = [{}, {}]", initial, clip.min, clip.max);
    if (config.train.epochs && config.train.steps)
        return fmt::format("train.steps is {} and train.epochs is {}; give one of the two", *config.train.steps,
                           *config.train.epochs);
    return {};
}

finding audit(const run_config& config) {
    const auto& audit = config.audit;
    if (!audit.guesses) return {};
    if (*audit.guesses % 2 != 0)
        return fmt::format("audit.guesses is {}; it must be even, half for \"in\" and half for \"out\"",
                           *audit.guesses);
    const std::pair<const char*, std::int64_t> kinds[] = {{"canaries", audit.canaries},
                                                          {"gradient_canaries", audit.gradient_canaries}};
    for (const auto& [name, count] : kinds)
        if (count > 0 && *audit.guesses > count)
            return fmt::format("audit.guesses is {}, more than audit.{}, which is {}", *audit.guesses, name, count);
    return {};
}

}  // namespace

std::optional<std::string> problem(const run_config& config) {
    for (const auto check : {ranges, contract, precision, method_keys, method, sizes, audit})
        if (auto found = check(config)) return found;
    return {};
}

void validate(const run_config& config) {
    if (const auto found = problem(config)) refuse(*found);
}

}  // namespace rldp::config

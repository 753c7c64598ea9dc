#include "config/validate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/error.hpp"
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
    const bool sound = privacy.semantics == "sound";
    if (!sound && !privacy.acknowledge_no_guarantee)
        return R"(privacy.semantics "as_published" guarantees nothing; set privacy.acknowledge_no_guarantee to true, or )"
               R"(use "sound")";
    const noise_section defaults;
    if (!sound && (config.noise.policy != defaults.policy || config.noise.allocation != defaults.allocation))
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

finding method(const run_config& config) {
    const auto share = config.noise.statistics_share;
    if (config.method.name == "static") {
        if (share != 0)
            return fmt::format(
                "noise.statistics_share is {}, but method static uses no statistics; give 0 or leave it out", share);
        return {};
    }
    if (share == 0 && config.privacy.semantics == "sound")
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

finding sizes(const run_config& config) {
    const auto& clip = config.clip;
    if (!(clip.min <= clip.initial && clip.initial <= clip.max))
        return fmt::format("clip.initial is {}, outside [clip.min, clip.max] = [{}, {}]", clip.initial, clip.min,
                           clip.max);
    if (config.train.epochs && config.train.steps)
        return fmt::format("train.steps is {} and train.epochs is {}; give one of the two", *config.train.steps,
                           *config.train.epochs);
    return {};
}

}  // namespace

std::optional<std::string> problem(const run_config& config) {
    for (const auto check : {ranges, contract, precision, method, sizes})
        if (auto found = check(config)) return found;
    return {};
}

void validate(const run_config& config) {
    auto resolved = config;
    // The default share is the controller's; without one, a member left alone means none.
    auto& share = resolved.noise.statistics_share;
    if (config.method.name == "static" && share == noise_section{}.statistics_share) share = 0;
    if (const auto found = problem(resolved)) refuse(*found);
}

}  // namespace rldp::config

#include "privacy/methods/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "config/base/error.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

void check(const method_config& config) {
    const auto positive = [](double value, const char* name) {
        if (!(std::isfinite(value) && value > 0)) refuse(fmt::format("{} is {}; give a positive number", name, value));
    };
    positive(config.expected_batch, "the expected batch size");
    positive(config.query_noise, "method.query_noise");
    positive(config.stabiliser, "method.stabiliser");
    positive(config.clip_min, "clip.min");
    if (!(config.clip_min <= config.initial_radius && config.initial_radius <= config.clip_max &&
          std::isfinite(config.clip_max)))
        refuse(fmt::format("clip.initial is {}, outside [clip.min, clip.max] = [{}, {}]", config.initial_radius,
                           config.clip_min, config.clip_max));
    if (!(config.quantile > 0 && config.quantile < 1))
        refuse(fmt::format("method.quantile is {}; give a number in (0, 1)", config.quantile));
    if (config.rank < 0) refuse(fmt::format("method.rank is {}; give 0 or more", config.rank));
    if (config.groups == 0 || config.pair_sizes.empty() ||
        std::any_of(config.pair_sizes.begin(), config.pair_sizes.end(), [](auto d) { return d < 1; }))
        refuse(fmt::format("method {} has no adapter to train; name modules in lora.targets", config.name));
}

}  // namespace

std::int64_t coordinates_of(const method_config& config) {
    return std::accumulate(config.pair_sizes.begin(), config.pair_sizes.end(), std::int64_t{0});
}

std::unique_ptr<method> make_method(const method_config& config) {
    check(config);
    const auto fixed = [&](clip_rule rule) { return make_fixed(config, rule); };
    if (config.name == "static" || config.name == "dp_lora") return fixed(clip_rule::clip);
    if (config.name == "dp_lora_literal") return fixed(clip_rule::batch_mean);
    if (config.name == "auto_s") return fixed(clip_rule::normalise);
    if (config.name == "psac") return fixed(clip_rule::psac);
    if (config.groups != 1)
        refuse(fmt::format("method {} needs clip.groups \"flat\": it clips the whole gradient as one", config.name));
    if (config.name == "autoclip_quantile") return make_quantile(config);
    if (config.name == "dcsgd_p") return make_histogram_percentile(config);
    if (config.name == "dcsgd_e") return make_histogram_error(config);
    if (config.name == "adaclip") return make_adaclip(config);
    if (config.name == "geoclip") return make_geoclip(config);
    refuse(fmt::format("method.name: \"{}\" is unknown here", config.name));
}

nlohmann::json numbers_of(const method_state& from, const std::string& name) try {
    auto numbers = nlohmann::json::parse(from.numbers);
    if (const auto& written = numbers.at("method"); written != name)
        refuse(fmt::format("checkpoint: its state is of method {}, not {}", written.dump(), name));
    return numbers;
} catch (const nlohmann::json::exception& reason) {
    refuse(fmt::format("checkpoint: the state of method {} can't be read: {}", name, reason.what()));
}

double positive_number(const nlohmann::json& numbers, const std::string& key) {
    const auto found = numbers.find(key);
    const double value = found != numbers.end() && found->is_number() ? found->get<double>() : std::nan("");
    if (!(std::isfinite(value) && value > 0))
        refuse(fmt::format("checkpoint: {} of the method is missing or no positive number", key));
    return value;
}

}  // namespace rldp::privacy

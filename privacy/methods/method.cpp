#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/strict_json.hpp"
#include "config/methods.hpp"
#include "privacy/methods/method.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

void check(const method_config& config, const config::method_row& row) {
    require_positive(config.expected_batch, "the expected batch size");
    if (row.query_noise) require_positive(config.query_noise, "method.query_noise");
    if (row.stabiliser) require_positive(config.stabiliser, "method.stabiliser");
    require_positive(config.clip_min, "clip.min");
    require(config.clip_min <= config.initial_radius && config.initial_radius <= config.clip_max &&
                std::isfinite(config.clip_max),
            "the initial radius lies outside [clip.min, clip.max]");
    if (row.quantile) require(config.quantile > 0 && config.quantile < 1, "method.quantile lies outside (0, 1)");
    require(config.rank >= 0, "method.rank is negative");
    require(config.groups > 0 && !config.pair_sizes.empty() &&
                std::all_of(config.pair_sizes.begin(), config.pair_sizes.end(), [](auto d) { return d >= 1; }),
            "a method has no adapter to train");
    require(row.groups != config::grouping_rule::whole || config.groups == 1,
            "a method that clips the whole gradient as one has several groups");
}

}  // namespace

std::int64_t count_coordinates(const method_config& config) {
    return std::accumulate(config.pair_sizes.begin(), config.pair_sizes.end(), std::int64_t{0});
}

std::unique_ptr<method> make_method(const method_config& how) {
    using kind = config::method_kind;
    const auto& row = config::method_named(how.name);
    check(how, row);
    switch (row.kind) {
        case kind::fixed_radius:
        case kind::dp_lora:
            return make_fixed(how, clip_rule::clip);
        case kind::dp_adambc:
            return make_fixed(how, clip_rule::clip, true);
        case kind::dp_lora_literal:
            return make_fixed(how, clip_rule::batch_mean);
        case kind::auto_s:
            return make_fixed(how, clip_rule::normalise);
        case kind::psac:
            return make_fixed(how, clip_rule::psac);
        case kind::autoclip_quantile:
            return make_quantile(how);
        case kind::dcsgd_p:
            return make_histogram_percentile(how);
        case kind::dcsgd_e:
            return make_histogram_error(how);
        case kind::adaclip:
            return make_adaclip(how);
        case kind::geoclip:
            return make_geoclip(how);
        case kind::scale_first:
            return make_scale_first(how);
        case kind::hyfreedp:
            return make_hyfreedp(how);
        case kind::rldp:
            break;  // rl::steered
    }
    bug("method rldp is not made here");
}

nlohmann::json read_numbers(const method_state& from, const std::string& name) try {
    auto numbers = nlohmann::json::parse(from.numbers);
    if (const auto& written = numbers.at("method"); written != name)
        refuse(fmt::format("checkpoint: its state is of method {}, not {}", written.dump(), name));
    return numbers;
} catch (const nlohmann::json::exception& reason) {
    refuse(fmt::format("checkpoint: the state of method {} can't be read: {}", name, reason.what()));
}

std::int64_t steps_in(const nlohmann::json& numbers) {
    const auto found = numbers.find("steps");
    if (found == numbers.end() || !found->is_number_unsigned())
        refuse("checkpoint: steps of the method is missing or no whole number");
    return to_integer(*found);
}

double positive_number(const nlohmann::json& numbers, const std::string& key) {
    const auto found = numbers.find(key);
    const double value = found != numbers.end() && found->is_number() ? found->get<double>() : std::nan("");
    if (!(std::isfinite(value) && value > 0))
        refuse(fmt::format("checkpoint: {} of the method is missing or no positive number", key));
    return value;
}

step_terms clip_in(std::shared_ptr<const geometry> shape) {
    step_terms out;
    out.radii = {1};
    out.shape = std::move(shape);
    return out;
}

at::Tensor released_mean(const release& value, std::int64_t coordinates, double expected_batch) {
    if (value.gradient.numel() != coordinates || !value.gradient.isfinite().all().item<bool>())
        throw error(errc::failed,
                    fmt::format("step {}: the release is not finite, or not of this model", value.charged->step));
    return value.gradient.to(at::kDouble) / expected_batch;
}

at::Tensor state_tensor(const method_state& from, const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto& all = from.tensors;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& named) { return named.first == name; });
    if (found == all.end()) refuse(fmt::format("checkpoint: the method's state lacks {}", name));
    const auto& tensor = found->second;
    if (tensor.scalar_type() != at::kDouble || tensor.sizes() != at::IntArrayRef(shape) ||
        !tensor.isfinite().all().item<bool>())
        refuse(fmt::format("checkpoint: {} of the method's state is of another model, or damaged", name));
    return tensor.to(at::kCPU).clone();
}

void check_sizes(const method_state& from, const std::string& name, const std::vector<std::int64_t>& sizes) {
    const auto numbers = read_numbers(from, name);
    const auto written = numbers.find("sizes");
    if (written == numbers.end() || *written != nlohmann::json(sizes))
        refuse(fmt::format("checkpoint: the state of method {} is of a model with other adapters", name));
}

}  // namespace rldp::privacy

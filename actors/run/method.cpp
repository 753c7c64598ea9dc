#include "actors/run/method.hpp"

#include <cmath>

#include "actors/run/public_lessons.hpp"
#include "privacy/mechanism/noise.hpp"
#include "rl/steered.hpp"

namespace rldp::actors {

namespace {

/// What clip.groups "adapters" clips on its own: an adapter, or the whole tensors of one module.
struct clipped_module {
    std::string name;
    std::int64_t size;
};

std::vector<clipped_module> list_modules(const models::lora_layout& layout) {
    std::vector<clipped_module> out;
    for (const auto& pair : layout.pairs) out.push_back({pair.module, pair.size});
    for (const auto& tensor : layout.tensors) {
        if (out.empty() || out.back().name != tensor.module) out.push_back({tensor.module, 0});
        out.back().size += tensor.size;
    }
    return out;
}

/// Half of what a uniform guess over the vocabulary loses: public, and near what a pretrained model starts at.
double estimate_initial_loss(const models::model_config& model) {
    return 0.5 * std::log(static_cast<double>(model.vocab));
}

rl::steered_config make_steered_config(const config::run_spec& spec, const run_model& model) {
    return {.segments = make_segments(spec.clip.groups, model.layout),
            .expected_batch = static_cast<double>(spec.train.expected_batch_size),
            .initial_radius = spec.clip.initial,
            .clip_min = spec.clip.min,
            .clip_max = spec.clip.max,
            .radius_scale = spec.controller.radius_scale,
            .rescale = spec.controller.rescale,
            .initial_loss = estimate_initial_loss(model.base->config()),
            .statistics_share = spec.privacy.semantics == semantics::as_published ? 0 : spec.method.statistics_share,
            .warmup = spec.controller.warmup};
}

privacy::method_config make_method_config(const config::run_spec& spec, const models::model_config& model,
                                        const models::lora_layout& layout, std::size_t groups) {
    privacy::method_config out{.name = spec.method.name,
                               .pair_sizes = {},
                               .groups = groups,
                               .expected_batch = static_cast<double>(spec.train.expected_batch_size),
                               .initial_radius = spec.clip.initial,
                               .clip_min = spec.clip.min,
                               .clip_max = spec.clip.max,
                               .quantile = spec.method.quantile,
                               .query_noise = spec.method.query_noise,
                               .stabiliser = spec.method.stabiliser,
                               .rank = spec.method.rank,
                               .statistics_share = spec.method.statistics_share,
                               .warmup = spec.train.warmup,
                               .initial_loss = estimate_initial_loss(model),
                               .rounding_margin = compute_rounding_margin(spec)};
    for (const auto& one : list_modules(layout)) out.pair_sizes.push_back(one.size);
    return out;
}

}  // namespace

std::vector<std::string> group_names(clip_grouping groups, const models::lora_layout& layout) {
    if (groups == clip_grouping::flat) return {layout.trains_base() ? "all parameters" : "all adapters"};
    if (groups == clip_grouping::factors) return {"all A", "all B"};
    std::vector<std::string> names;
    for (const auto& one : list_modules(layout)) names.push_back(one.name);
    return names;
}

std::vector<privacy::segment> make_segments(clip_grouping groups, const models::lora_layout& layout) {
    if (groups == clip_grouping::flat && !layout.trains_base()) return {{layout.dimension, 0}};
    std::vector<privacy::segment> out;
    if (groups == clip_grouping::flat) {  // of so many numbers the noise is made in pieces, on all threads
        for (const auto& one : list_modules(layout)) out.push_back({one.size, 0});
        return out;
    }
    if (groups == clip_grouping::factors) {
        for (const auto& pair : layout.pairs) {
            out.push_back({pair.a_size, 0});
            out.push_back({pair.size - pair.a_size, 1});
        }
        return out;
    }
    for (const auto& one : list_modules(layout)) out.push_back({one.size, out.size()});
    return out;
}

std::unique_ptr<privacy::method> make_run_method(const config::run_spec& spec, const run_plan& plan, const run_model& model) {
    if (!spec.method.steered())
        return privacy::make_method(make_method_config(spec, model.base->config(), model.layout, plan.groups.size()));
    auto how = make_steered_config(spec, model);
    how.public_radii = model.public_norms;
    return std::make_unique<rl::steered>(how);
}

void check_noise_left(const config::run_spec& spec, const models::model_config& model,
                      const models::lora_layout& layout, const run_plan& plan) {
    if (spec.method.steered()) return;  // its share is a part of 1/z², whatever z is
    const auto terms =
        privacy::make_method(make_method_config(spec, model, layout, plan.groups.size()))->next_terms(plan.noise_multiplier);
    privacy::gradient_multiplier(plan.noise_multiplier, terms.measurement_multiplier);
}

}  // namespace rldp::actors

#include "actors/run/proposals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "actors/run/public_lessons.hpp"
#include "actors/run/step_gradients.hpp"
#include "config/base/error.hpp"
#include "config/open_keys.hpp"
#include "models/weights.hpp"

namespace rldp::actors {

std::vector<proposal> proposals(const config::run_config& config, std::int64_t population, std::int64_t units) {
    constexpr std::int64_t smallest = 16, fewest = 8;
    if (population < smallest)
        refuse(fmt::format("a population of {} is below the smallest batch that is tried, {}", population, smallest));
    if (units / smallest < fewest)
        refuse(fmt::format("a budget of {} units is too small: even batches of {} leave fewer than {} steps", units,
                           smallest, fewest));
    const auto model = models::read_model(config.model.path);
    const auto layout = layout_once_taught(config, layout_of(config, model));
    const auto planned = config::planned_steps(with_choices(config, population, model).config, population);
    // The same share of other steps; one step at least of what is there at all.
    const auto scaled = [&](std::int64_t length, std::int64_t steps) {
        return length == 0 ? 0 : std::max<std::int64_t>(1, length * steps / planned);
    };
    std::vector<proposal> out;
    for (auto batch = smallest; batch <= population && units / batch >= fewest; batch *= 2) {
        auto divided = config;
        divided.train.expected_batch_size = batch;
        divided.train.steps = units / batch;
        divided.train.epochs.reset();
        if (config.train.warmup) divided.train.warmup = scaled(*config.train.warmup, *divided.train.steps);
        if (config.train.decay) divided.train.decay = scaled(*config.train.decay, *divided.train.steps);
        divided = with_choices(std::move(divided), population, model).config;
        run_plan plan;
        try {
            plan = plan_run(divided, population, model, layout);
        } catch (const error& reason) {
            if (reason.code() != errc::bad_input || out.empty()) throw;
            break;  // a method may have no use for so little noise
        }
        out.push_back({.expected_batch_size = batch,
                       .steps = plan.steps,
                       .warmup = divided.train.warmup,
                       .decay = divided.train.decay,
                       .noise_multiplier = plan.noise_multiplier,
                       .noise_per_unit = plan.noise_multiplier / static_cast<double>(batch)});
    }
    return out;
}

const proposal& best_of(const std::vector<proposal>& all) {
    const auto beyond =
        std::find_if(all.begin(), all.end(), [](const auto& one) { return one.steps < config::least_steps; });
    return beyond == all.begin() ? all.front() : *(beyond - 1);
}

double seconds_per_unit(const config::run_config& asked) {
    const auto model = load_model(asked);
    auto config = asked;
    choose_micro_batch(config, model.base->config(), model.layout, 0, token_limit(config, model.base->config()));
    const auto length = token_limit(config, model.base->config());
    const auto how = gradient_settings_of(config, model);
    const auto records = config.privacy.unit_is_group ? config.privacy.max_records_per_unit : 1;
    const auto count = std::max<std::int64_t>(1, 2 * how.micro_batch * how.abreast / records);
    std::vector<std::vector<models::sequence>> made(static_cast<std::size_t>(count));
    models::sequence tokens;
    for (std::int64_t i = 0; i < length; ++i)
        tokens.push_back(static_cast<std::int32_t>(i * 7919 % model.base->config().vocab));
    for (auto& unit : made) unit.assign(static_cast<std::size_t>(records), tokens);
    const auto units = models::views_of(made);
    const auto once = [&] {
        const auto began = std::chrono::steady_clock::now();
        step_gradients(
            model, how, model.initial_adapter, {}, units, {}, [](const privacy::unit_gradients&) {},
            [](const std::exception& reason) { throw error(errc::failed, reason.what()); });
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    once();  // memory is taken, threads are started
    return std::min(once(), once()) / static_cast<double>(count);
}

}  // namespace rldp::actors

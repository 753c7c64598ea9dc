#include "run/first/proposals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "config/open_keys.hpp"
#include "data/sources/made_up_rows.hpp"
#include "models/weights.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "run/factories.hpp"
#include "run/memory.hpp"
#include "run/public_training.hpp"
#include "run/resolve.hpp"
#include "run/step_gradients.hpp"

namespace rldp::actors {

std::vector<proposal> proposals(const config::run_config& config, std::int64_t population, std::int64_t units,
                                counted of) {
    constexpr std::int64_t smallest = 16, fewest = 8;
    if (population < smallest)
        refuse(fmt::format("a population of {} is below the smallest batch that is tried, {}", population, smallest));
    if (units / smallest < fewest)
        refuse(fmt::format("a budget of {} units is too small: even batches of {} leave fewer than {} steps", units,
                           smallest, fewest));
    const auto model = models::read_model(config.model.path);
    const auto reading = config::to_reading_spec(config);
    const auto layout = choose_layout(reading, model);
    const auto planned = resolve(config, population, model).train.steps;
    // The same share of other steps; one step at least of what is there at all.
    const auto scaled = [&](std::int64_t length, std::int64_t steps) {
        return length == 0 ? 0 : std::max<std::int64_t>(1, length * steps / planned);
    };
    const auto divide = [&](std::int64_t batch, std::int64_t steps) {
        auto divided = config;
        divided.train.expected_batch_size = batch;
        divided.train.steps = steps;
        divided.train.epochs.reset();
        if (config.train.warmup) divided.train.warmup = scaled(*config.train.warmup, steps);
        if (config.train.decay) divided.train.decay = scaled(*config.train.decay, steps);
        return resolve(std::move(divided), population, model);
    };
    std::vector<proposal> out;
    for (auto batch = smallest; batch <= population && units / batch >= fewest; batch *= 2) {
        auto spec = divide(batch, units / batch);
        // Fewer steps have no larger room.
        if (const auto padded = choose_padding(spec, 1); padded && of == counted::computed) {
            const auto steps = units / padded->units;
            if (steps < fewest) break;
            spec = divide(batch, steps);
        }
        run_plan plan;
        try {
            plan = plan_run(spec, model, layout);
        } catch (const error& reason) {
            if (reason.code() != errc::bad_input || out.empty()) throw;
            break;  // a method may have no use for so little noise
        }
        out.push_back({.expected_batch_size = batch,
                       .steps = plan.steps,
                       .warmup = spec.config.train.warmup,
                       .decay = spec.config.train.decay,
                       .bands = plan.bands,
                       .computed = plan.padded ? plan.padded->units : batch,
                       .noise_multiplier = plan.noise_multiplier,
                       .noise_per_unit = plan.noise_multiplier / static_cast<double>(batch)});
    }
    if (out.empty())
        refuse(
            fmt::format("a budget of {} units, padded steps' among them (privacy.pad_batches), is too small for "
                        "batches of {}",
                        units, smallest));
    return out;
}

const proposal& choose_best(const std::vector<proposal>& all) {
    const auto beyond =
        std::find_if(all.begin(), all.end(), [](const auto& one) { return one.steps < config::least_steps; });
    return beyond == all.begin() ? all.front() : *(beyond - 1);
}

namespace {

bool may_hold_base(config::run_config config) {
    const auto model = models::read_model(config.model.path);
    propose_sharing(config, model);
    const auto spec = config::to_reading_spec(config);
    return !spec.model.shares() || holds_whole_base(spec, model, 1, false);
}

/// Passes over made-up records.
class timed_passes {
  public:
    timed_passes(const config::run_config& asked, std::int64_t population)
        : model_(load_model(config::to_reading_spec(asked))),
          spec_(resolve(asked, population, model_.base->config())) {}

    /// As many records, each as long, as a unit may have.
    models::unit_shape largest() const { return {spec_.records_per_unit, token_limit(spec_, model_.base->config())}; }

    /// Seconds a unit, in so many micro-batches for each that is under way at once.
    double once(const models::unit_shape& unit, std::int64_t micro_batch, std::int64_t micro_batches) {
        auto spec = spec_;
        spec.train.micro_batch = micro_batch;
        const auto how = make_gradient_settings(spec, model_);
        const auto count = std::max<std::int64_t>(1, micro_batches * how.micro_batch * how.abreast / unit.records);
        const std::vector<models::sequence> records(static_cast<std::size_t>(unit.records),
                                                    make_up_record(unit.tokens, 0, model_));
        const std::vector<std::vector<models::sequence>> made(static_cast<std::size_t>(count), records);
        const auto units = models::view_units(made);
        const auto began = std::chrono::steady_clock::now();
        const auto segments = make_segments(spec_.clip.groups, model_.layout);
        privacy::step_terms terms;
        terms.radii.assign(privacy::sizes_of_groups(segments).size(), 1.0);
        privacy::clipped_sum sum(segments, terms);
        step_gradients(
            model_, how, model_.initial_adapter, {}, units, {},
            [&](const privacy::unit_gradients& chunk) {
                // A pass of which nothing is learned takes no time.
                if (!(chunk.losses > 0).all().item<bool>()) throw std::logic_error("a made-up record has no loss");
                sum.add(chunk);  // parts are computed when they are summed
            },
            [](const std::exception& reason) { throw error(errc::failed, reason.what()); });
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() /
               static_cast<double>(count);
    }

    /// As the run will compute.
    double as_planned(const models::unit_shape& unit) { return once(unit, spec_.train.micro_batch, 2); }

    /// Of two units where they take long, else of a few micro-batches.
    double roughly(const models::unit_shape& unit) {
        constexpr double long_enough = 0.5;   // seconds, to be no matter of chance
        const auto first = once(unit, 1, 1);  // memory is taken, threads are started
        return first > long_enough ? std::min(first, once(unit, 1, 1)) : as_planned(unit);
    }

  private:
    run_model model_;
    config::run_spec spec_;
};

}  // namespace

std::optional<double> seconds_per_unit(const config::run_config& config, std::int64_t population) {
    if (!may_hold_base(config)) return {};
    timed_passes passes(config, population);
    const auto unit = passes.largest();
    passes.once(unit, 1, 1);
    passes.as_planned(unit);
    return std::min(passes.as_planned(unit), passes.as_planned(unit));
}

namespace {

/// How many public records are passed before the first step, with repetitions, of batches of so many.
double count_public(const config::public_section& from, double batch) {
    if (!from.used_for(public_use::warm_start) && !from.used_for(public_use::radii)) return 0;
    const auto rows = data::parse_template_rows(*from.path);
    return rows ? static_cast<double>(*rows) : static_cast<double>(from.steps) * batch;
}

}  // namespace

std::optional<plan_time> estimate_time(const config::run_config& config, const run_plan& plan,
                                       const std::optional<models::unit_shape>& usual) {
    if (!may_hold_base(config)) return {};
    timed_passes passes(config, plan.population);
    plan_time out;
    out.largest = passes.largest();
    out.seconds_per_unit = passes.roughly(out.largest);
    const auto batch = plan.sample_rate * static_cast<double>(plan.population);
    out.units = plan.padded ? static_cast<double>(plan.padded->units) : batch;
    const auto units = out.units * static_cast<double>(plan.steps) + count_public(config.public_data, batch);
    out.seconds = out.seconds_per_unit * units;
    if (usual && !plan.padded) out.usual_seconds = passes.roughly(*usual) * units;
    if (out.seconds <= an_hour) return out;
    try {
        const auto all = proposals(config, plan.population, static_cast<std::int64_t>(an_hour / out.seconds_per_unit),
                                   counted::computed);
        out.of_an_hour = choose_best(all);
    } catch (const error& too_little) {
        if (too_little.code() != errc::bad_input) throw;  // an hour is too short for any
    }
    return out;
}

}  // namespace rldp::actors

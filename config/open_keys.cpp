#include "config/open_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/methods.hpp"
#include "config/values.hpp"

namespace rldp::config {

namespace {

/// Sets what is open, and says so.
class chooser {
  public:
    template <class Value>
    void choose(const char* key, std::optional<Value>& open, Value value, std::string reason) {
        if (open) return;
        open = value;
        made_.push_back({key, written(value).dump(), std::move(reason)});
    }
    std::vector<choice> take() { return std::move(made_); }

  private:
    std::vector<choice> made_;
};

constexpr std::int64_t least_batch = 16;

/// The largest power of two, of at least least_batch where there are as many units, that leaves enough steps: with the
/// work B·T given, the noise of a step's mean, z/B, falls as B grows (docs/choosing.md).
std::int64_t batch_for(double work, double steps, std::int64_t population) {
    const auto most = std::min({work / steps, static_cast<double>(population), static_cast<double>(most_batch)});
    const auto least = std::min(least_batch, population);
    return std::max(least, static_cast<std::int64_t>(std::exp2(std::floor(std::log2(std::max(1.0, most))))));
}

std::string reason_of_batch(const run_config& config, double work, std::int64_t batch) {
    const auto left = work / static_cast<double>(batch);
    if (config.train.steps) {
        const auto steps = *config.train.steps;
        return left < static_cast<double>(steps)
                   ? fmt::format("the least that is chosen, though {} steps of it are more than {:g} epochs", steps,
                                 default_epochs)
                   : fmt::format("as many units in {} steps as {:g} epochs have, rounded down to a power of two", steps,
                                 default_epochs);
    }
    if (left < least_steps)
        return fmt::format(
            "the least that is chosen; it leaves fewer than {} steps, so that steps and not noise are short: more "
            "epochs would help",
            least_steps);
    return fmt::format("the largest power of two that leaves {} steps: for the same work a larger batch has less noise",
                       least_steps);
}

/// A twelfth of the steps or so, whose last block is nearly whole: what a deck commits to in it and can't play is lost.
std::int64_t interval_for(std::int64_t steps) {
    const auto wanted = std::max<std::int64_t>(1, steps / 12);
    auto best = wanted;
    const auto lost = [&](std::int64_t interval) { return (interval - steps % interval) % interval; };
    for (auto one = std::max<std::int64_t>(1, steps / 16); one <= steps / 9; ++one) {
        const bool nearer = std::abs(one - wanted) < std::abs(best - wanted);
        if (lost(one) < lost(best) || (lost(one) == lost(best) && nearer)) best = one;
    }
    return best;
}

std::int64_t compute_share(std::int64_t steps, std::int64_t parts) {
    return std::max<std::int64_t>(1, steps / parts);
}

/// A record that is evaluated costs a third of one that is trained on: it is passed forwards only.
constexpr double evaluation_share = 0.1;
constexpr std::int64_t least_eval_records = 256;

void choose_eval_records(chooser& of, run_config& config, std::int64_t steps) {
    const auto looks = config.eval.looks_made();
    const auto between = looks > 0 ? std::max<std::int64_t>(1, steps / looks) : *config.train.eval_every;
    const auto affordable =
        static_cast<std::int64_t>(3 * evaluation_share * static_cast<double>(between * read_batch_size(config)));
    of.choose("train.eval_records", config.train.eval_records,
              std::clamp(affordable, least_eval_records, most_eval_records(config)),
              affordable < least_eval_records
                  ? "fewer would say little, though an evaluation costs more than a tenth of the training between two"
                  : "an evaluation costs at most a tenth of the training between two");
}

std::string reason_of_weight(const run_config& config) {
    if (!config.data.narrative) return "no template tells values from other words";
    return config.public_data.used_for(public_use::warm_start) ? "public records have taught the template's own words"
                                                               : "the template's own words have to be learned, too";
}

std::vector<choice> as_published(run_config& config, std::int64_t population) {
    auto& train = config.train;
    auto& rl = config.rl;
    chooser of;
    const std::string reason = "the publication's";
    of.choose<std::int64_t>("train.expected_batch_size", train.expected_batch_size, 16, reason);
    of.choose<double>("train.lr", train.lr, 5e-4, reason);
    of.choose<std::int64_t>("train.warmup", train.warmup, 100, reason);
    of.choose("train.schedule", train.schedule, resolve_choices(config).schedule, reason);
    of.choose("train.value_weight", train.value_weight, resolve_choices(config).value_weight, reason);
    of.choose<std::int64_t>("train.eval_every", train.eval_every, 48, reason);
    of.choose<std::int64_t>("rl.interval", rl.interval, 112, reason);
    of.choose<std::int64_t>("rl.warmup", rl.warmup, 50, reason);
    choose_eval_records(of, config, planned_steps(config, population));  // of which it says nothing
    return of.take();
}

}  // namespace

/// A rate that falls to zero is as one over the square roots of steps and width, as measured over 30 to 240 steps, at
/// widths of 64 to 256 and at 576, from where on it is as one over the width (Yang et al. 2021, "Tensor Programs V");
/// adapters on queries and values alone bear twice as much, and so does noise in bands. One that stays is half of what
/// 100 steps have (docs/choosing.md). One that begins where public records have taught the adapter was measured with
/// queries and values alone. A prepared policy's schedule is a factor of it. Two digits.
double rate_for(const run_config& config, std::int64_t steps, const adapted_model& model) {
    const bool of_attention = config.public_data.used_for(public_use::warm_start);
    const bool stays = resolve_choices(config).schedule == rate_shape::constant;
    constexpr double measured_steps = 60, at_measured = 0.014, staying = 0.005, widest = 576;
    constexpr std::int64_t least = 16, narrowest = 64;
    double rate = staying;
    if (!of_attention && !stays) {
        rate = at_measured * std::sqrt(measured_steps / static_cast<double>(std::max(steps, least)));
        if (config.noise.bands.value_or(1) > 1) rate *= 2;
    }
    if (of_attention || model.queries_and_values) rate *= 2;
    const auto wide = static_cast<double>(std::max(model.width, narrowest));
    rate *= std::sqrt(narrowest / std::min(wide, widest)) * widest / std::max(wide, widest);
    const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
    return std::stod(fmt::format("{:.1e}", std::round(rate / unit) * unit));
}

std::optional<choice> choose_state(run_config& config, const std::optional<std::string>& doubt) {
    auto& rl = config.rl;
    const bool open =
        method_named(config.method.name).steered() && config.privacy.semantics == semantics::sound && !rl.state;
    if (!open) return std::nullopt;
    auto kind = find_controller(config);
    const bool asked = rl.controller || rl.online, doubted = kind == controller_kind::prepared && !asked && doubt;
    if (doubted) kind = leaves_room_for_a_schedule(config) ? controller_kind::schedule : controller_kind::published;
    const auto reason = [&]() -> std::string {
        if (config.train.optimizer != optimizer_kind::adamw)
            return fmt::format("train.optimizer {} goes without a controller", name_of(config.train.optimizer));
        if (kind == controller_kind::published) return "a key is given that a schedule has no use for";
        if (doubted) return "nobody vouches here for the policy that ships: " + *doubt;
        if (kind == controller_kind::schedule) return "a key is given that a prepared policy has no use for";
        if (asked) return "rl.controller or rl.online is given";
        return "its policy passed its gate on runs of families that it had not seen";
    };
    rl.state = kind;
    return choice{"rl.state", written(kind).dump(), reason()};
}

std::vector<std::int64_t> look_steps(std::int64_t looks, std::int64_t steps) {
    std::vector<std::int64_t> out;
    for (std::int64_t k = 0; k < looks; ++k) {
        const auto at = looks == 1 ? steps : (k * steps + (looks - 1) / 2) / (looks - 1);
        if (out.empty() || at > out.back()) out.push_back(at);
    }
    return out;
}

std::optional<choice> choose_clip(run_config& config, std::int64_t vocabulary) {
    if (config.eval.looks_made() == 0 || config.eval.clip) return std::nullopt;
    constexpr double reach = 0.6;
    config.eval.clip = std::round(10 * reach * std::log(static_cast<double>(vocabulary))) / 10;
    return choice{
        "eval.clip", nlohmann::json(*config.eval.clip).dump(),
        fmt::format("from half of log V = {:.1f} nats, what guessing evenly among {} tokens costs, to either end",
                    std::log(static_cast<double>(vocabulary)), vocabulary)};
}

std::vector<choice> choose_open_keys(run_config& config, std::int64_t population, const adapted_model& model) {
    if (config.privacy.semantics == semantics::as_published) return as_published(config, population);
    auto& train = config.train;
    const bool scheduled = !resolve_choices(config).prepared;  // a prepared policy brings a schedule of its own
    chooser of;
    if (population > 0) {
        const double work = train.epochs.value_or(default_epochs) * static_cast<double>(population);
        const auto steps = static_cast<double>(train.steps.value_or(least_steps));
        const auto batch = batch_for(work, steps, population);
        of.choose("train.expected_batch_size", train.expected_batch_size, batch, reason_of_batch(config, work, batch));
    }
    const auto steps = planned_steps(config, population);
    const auto rate = rate_for(config, steps, model);
    const auto reason = fmt::format("by width {}, {} steps and what is adapted (docs/choosing.md)", model.width, steps);
    if (!finds_its_rate(train.optimizer))
        of.choose("train.lr", train.lr, rate, reason);
    else if (config.public_data.trained_on())
        of.choose("public.lr", config.public_data.lr, rate, reason);
    if (scheduled) {
        const bool sets_its_rate = find_method(config).kind == method_kind::hyfreedp;
        of.choose("train.warmup", train.warmup, std::min(compute_share(steps, 20), steps - 1),
                  "a twentieth of the steps");
        of.choose("train.schedule", train.schedule, resolve_choices(config).schedule,
                  sets_its_rate ? "hyfreedp sets the rate itself"
                                : "noise is averaged out while the rate falls, and a rate too high is forgiven");
    }
    of.choose("train.value_weight", train.value_weight, resolve_choices(config).value_weight, reason_of_weight(config));
    of.choose("train.eval_every", train.eval_every, compute_share(steps, 20),
              config.eval.looks_made() > 0 ? "twenty checkpoints" : "twenty looks at held-out records");
    choose_eval_records(of, config, steps);
    of.choose("rl.interval", config.rl.interval, interval_for(steps), "some twelve decisions, or looks at the budget");
    if (scheduled)
        of.choose("rl.warmup", config.rl.warmup, *config.rl.interval, "one interval");
    else
        of.choose("rl.warmup", config.rl.warmup, *config.rl.interval - 1,
                  "so that rl.controller decides after a block");
    return of.take();
}

}  // namespace rldp::config

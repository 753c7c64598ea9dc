#include "config/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "config/methods.hpp"
#include "config/schema.hpp"

namespace rldp::config {

namespace {

using finding = std::optional<std::string>;

bool acts_on(const run_config& config, controller_action dial) {
    const auto& actions = config.rl.actions;
    return std::find(actions.begin(), actions.end(), dial) != actions.end();
}

/// Every member within the range of its key, also where the configuration was not read from JSON.
finding ranges(const run_config& config) {
    for (const auto& key : schema()) {
        const auto value = key.write(config);
        if (!rewrite(key, value, {})) return fmt::format("{} is {}; give {}", key.path, shown(value), key.expectation);
    }
    return {};
}

finding contract(const run_config& config) {
    const auto& privacy = config.privacy;
    const bool sound = privacy.semantics == semantics::sound;
    if (!sound && !privacy.acknowledge_no_guarantee)
        return R"(privacy.semantics "as_published" guarantees nothing; set privacy.acknowledge_no_guarantee to true, or )"
               R"(use "sound")";
    if (!sound && !method_named(config.method.name).steered())
        return fmt::format(R"(privacy.semantics "as_published" reproduces method rldp; method.name is "{}")",
                           config.method.name);
    if (!sound && (config.noise.policy || config.noise.allocation))
        return "noise.policy and noise.allocation have no part in as_published, which has its own; leave them out";
    const auto bands = config.noise.bands.value_or(1);
    const auto policy = resolve_choices(config).policy;
    if (bands > 1 && policy != policy_kind::fixed)
        return fmt::format(
            "noise.bands is {}, but noise.policy {} changes the noise while training, which is proven for "
            "one band only; give noise.policy fixed, or noise.bands 1",
            bands, name_of(policy));
    if (const auto& risk = privacy.risk; risk.fpr || risk.tpr) {
        if (!risk.given()) return "privacy.risk.fpr and privacy.risk.tpr are given together, or neither";
        if (*risk.tpr <= *risk.fpr)
            return fmt::format(
                "privacy.risk.tpr is {}, but guessing alone is right as often as it is wrong, {}; give "
                "more than privacy.risk.fpr",
                *risk.tpr, *risk.fpr);
        if (!sound) return R"(privacy.risk bounds nothing under privacy.semantics "as_published"; leave it out)";
    }
    if (sound && privacy.accountant == "gdp_clt")
        return R"(privacy.accountant "gdp_clt" is no upper bound and can't enforce a budget; use "pld" or "rdp")";
    return privacy.population ? rate_problem(config, *privacy.population) : std::nullopt;
}

finding book(const run_config& config) {
    const auto& given = config.privacy.book;
    if (!given || is_book_path(*given) || is_book_name(*given)) return {};
    return fmt::format(
        "privacy.book is {}; a name has letters, digits, '.', '_' and '-' and begins with a letter or digit, a "
        "directory's path has a '/'",
        shown(*given));
}

/// What takes the steps, and what that leaves no room for.
finding optimizer(const run_config& config) {
    const auto kind = config.train.optimizer;
    const auto name = name_of(kind);
    if (kind == optimizer_kind::adamw) return {};
    if (config.privacy.semantics != semantics::sound)
        return fmt::format(
            R"(train.optimizer is "{}", but privacy.semantics "as_published" reproduces AdamW; leave it out)", name);
    if (const auto who = find_controller(config); who != controller_kind::schedule)
        return fmt::format(
            R"(train.optimizer is "{}", but rl.state "{}" has a controller, which steers AdamW alone; give rl.state )"
            R"("schedule", or leave train.optimizer out)",
            name, name_of(who));
    if (const auto& row = find_method(config); row.kind == method_kind::hyfreedp || row.kind == method_kind::dp_adambc)
        return fmt::format(
            R"(train.optimizer is "{}", but method {} {}; give method.name static, or leave train.optimizer out)", name,
            row.name, row.kind == method_kind::hyfreedp ? "sets AdamW's rate itself" : "is an AdamW of its own");
    if (const auto bands = config.noise.bands.value_or(1); bands > 1 && needs_independent_noise(kind))
        return fmt::format(
            R"(noise.bands is {}, but train.optimizer "{}" multiplies gradients with earlier moves, whose noise must be )"
            R"(independent; give noise.bands 1)",
            bands, name);
    if (!finds_its_rate(kind)) return {};
    if (config.train.lr)
        return fmt::format(
            R"(train.lr is {}, but train.optimizer "{}" finds its learning rate itself; leave it out (null))",
            *config.train.lr, name);
    if (config.train.final_lr != 0)
        return fmt::format(
            R"(train.final_lr is {}, a rate, and train.optimizer "{}" finds its own, which falls to nothing; leave it out)",
            config.train.final_lr, name);
    return {};
}

finding learning(const run_config& config) {
    const auto& train = config.train;
    const auto schedule = resolve_choices(config).schedule;
    if (schedule == rate_shape::constant && train.final_lr != 0)
        return fmt::format(R"(train.final_lr is {}, but train.schedule "constant" never falls; leave it out)",
                           train.final_lr);
    if (const auto found = optimizer(config)) return found;
    if (train.lr && train.final_lr > *train.lr)
        return fmt::format("train.final_lr is {}, above train.lr {}; a rate falls to it", train.final_lr, *train.lr);
    if (find_method(config).kind == method_kind::hyfreedp && schedule != rate_shape::constant)
        return fmt::format(R"(train.schedule is "{}", but method hyfreedp sets the rate itself; give "constant")",
                           name_of(schedule));
    if (train.average == averaging::none && train.average_window != train_section{}.average_window)
        return R"(train.average_window is of an average, but train.average is "none"; leave it out)";
    if (train.decay && schedule != rate_shape::wsd)
        return fmt::format(R"(train.decay is of train.schedule "wsd"; it is "{}", so leave it out)", name_of(schedule));
    const auto &lessons = config.public_data, none = public_section{};
    if (!lessons.path && (lessons.use != none.use || lessons.steps != none.steps || lessons.lr))
        return "public.use, public.steps and public.lr are of public records, but there is no public.path";
    if (lessons.used_for(public_use::choose) && train.average == averaging::none && !resolve_choices(config).prepared)
        return R"(public.use "choose" is between the last iterate and an average, but train.average is "none"; give one)";
    if (train.value_weight.value_or(1) != 1 && !config.data.narrative)
        return fmt::format("train.value_weight is {}, but only data.template tells values from other words; give 1",
                           *train.value_weight);
    if (config.data.chat && config.data.narrative)
        return "data.chat is true, and data.template is there: conversations are written by the model's own chat "
               "template; leave one out";
    if (config.eval.target && !config.data.narrative)
        return fmt::format(R"(eval.target is "{}", a column, but there is no data.template; leave it out)",
                           *config.eval.target);
    return {};
}

finding number_types(const run_config& config) {
    if (config.model.dtype == precision::tf32 && config.device == "cpu")
        return R"(model.dtype "tf32" is a precision of CUDA devices; use "float32", or device "cuda")";
    if (config.model.quantize != quantization::none && config.device != "cpu")
        return R"(model.quantize: quantized bases are computed on the processor alone so far; give device "cpu")";
    return {};
}

/// What is trained whole has no adapters, and its unit gradients are known by their norms alone.
finding whole(const run_config& config) {
    if (!config.train.trains_base()) return {};
    const auto &given = config.lora, none = lora_section{};
    if (given.rank != none.rank || given.alpha != none.alpha || given.dropout != none.dropout ||
        given.targets != none.targets)
        return "train.parameters trains the base itself, and the keys of lora are of adapters; leave one of them out";
    if (!config.train.lr && !finds_its_rate(config.train.optimizer))
        return "train.lr is open, and what is chosen for it is for adapters; with train.parameters give it, such as "
               "0.001";
    if (config.model.dtype != precision::float32)
        return fmt::format(R"(model.dtype is "{}", but train.parameters are trained in float32; give that)",
                           name_of(config.model.dtype));
    if (config.model.quantize != quantization::none)
        return "model.quantize holds the base in blocks, whose numbers no gradient moves; leave it out, or "
               "train.parameters";
    if (config.model.checkpoint_activations)
        return "model.checkpoint_activations keeps less than the gradients of train.parameters are made of; leave it "
               "out, and lower train.micro_batch";
    if (config.model.shares())
        return "model.shard spreads a frozen base over ranks, and train.parameters moves its numbers; leave one of "
               "them "
               "out";
    if (config.privacy.semantics != semantics::sound)
        return R"(privacy.semantics "as_published" reproduces adapters; leave train.parameters out)";
    if (const auto& row = find_method(config); row.adapters_only)
        return fmt::format(
            "method.name is {}, which asks for more of unit gradients than train.parameters has; take {}", row.name,
            names_of_methods([](auto& m) { return !m.adapters_only; }));
    if (resolve_choices(config).groups == clip_grouping::factors)
        return R"(clip.groups "factors" clips A and B of adapters apart, and train.parameters has none; give "flat")";
    if (config.public_data.path)
        return "public.path teaches adapters; with train.parameters, tune the base on those records first (rldp "
               "pretrain, or any program), and leave public.path out";
    if (config.audit.gradient_canaries > 0)
        return "audit.gradient_canaries are gradients of adapters; with train.parameters use audit.canaries";
    return {};
}

/// Keys of a method that is not the one chosen do nothing: they are refused.
finding method_keys(const run_config& config) {
    const auto& given = config.method;
    const auto& row = find_method(config);
    const auto meaningless = [&](const char* key, bool is_given, auto has) -> finding {
        if (!is_given || has(row)) return {};
        return fmt::format("method.{} has no meaning for method {}, only for {}; leave it out", key, row.name,
                           names_of_methods(has));
    };
    if (auto found =
            meaningless("quantile", given.quantile.has_value(), [](auto& m) { return m.quantile.has_value(); }))
        return found;
    if (auto found = meaningless("query_noise", given.query_noise.has_value(),
                                 [](auto& m) { return m.query_noise.has_value(); }))
        return found;
    if (auto found =
            meaningless("stabiliser", given.stabiliser.has_value(), [](auto& m) { return m.stabiliser.has_value(); }))
        return found;
    return meaningless("rank", given.rank.has_value(), [](auto& m) { return m.rank.has_value(); });
}

/// The first key given that a controller alone has; not those that a run writes down whoever steers it.
std::optional<std::string_view> find_controller_key(const run_config& config) {
    const auto &rl = config.rl, none = rl_section{};
    if (rl.policy.value_or(controller_mode::learned) != controller_mode::learned) return "rl.policy";
    if (rl.signer) return "rl.signer";
    if (rl.radius_scale) return "rl.radius_scale";
    if (rl.rescale) return "rl.rescale";
    if (config.noise.deck != noise_section{}.deck) return "noise.deck";
    return find_published_key(config);
}

finding unsteered(const run_config& config) {
    const bool steerable = method_named(config.method.name).steered();
    const auto name = steerable ? std::string(R"(rldp under rl.state "schedule")") : config.method.name;
    if (steerable && config.privacy.semantics != semantics::sound)
        return R"(rl.state "schedule" is no part of as_published; give "published")";
    if (const auto given = find_controller_key(config); steerable && given)
        return fmt::format(R"({} is a controller's, and rl.state "schedule" has none; leave one out)", *given);
    const auto choices = resolve_choices(config);
    const auto& row = find_method(config);
    if (row.statistics_share == 0 && choices.statistics_share != 0)
        return fmt::format("noise.statistics_share is {}, but method {} uses no statistics; give 0 or leave it out",
                           choices.statistics_share, name);
    if (row.statistics_share > 0 && choices.statistics_share == 0)
        return fmt::format(
            "noise.statistics_share is 0, but method {} sets the learning rate by the losses it pays for; "
            "give {} or leave it out",
            name, row.statistics_share);
    if (choices.policy != policy_kind::fixed)
        return fmt::format(
            R"(noise.policy is "{}", but method {} has no controller to choose the noise; give "fixed" or )"
            R"(leave it out)",
            name_of(choices.policy), name);
    if (config.noise.allocation == allocation::shares)
        return fmt::format(R"(noise.allocation is "shares", but method {} has no controller to set them; give )"
                           R"("proportional")",
                           name);
    if (config.rl.state && !steerable)
        return fmt::format("rl.state has no meaning for method {}, which nothing steers; leave it out", name);
    if (config.rl.controller || config.rl.online)
        return fmt::format("rl.controller and rl.online have no meaning for method {}; leave them out", name);
    if (config.public_data.used_for(public_use::radii))
        return fmt::format(R"(public.use has "radii", which are those of method rldp; method {} has its own)", name);
    const auto may = row.groups;
    if (may == grouping_rule::by_factor && choices.groups != clip_grouping::factors)
        return fmt::format(R"(clip.groups is "{}", but method {} clips A and B apart: give "factors" or leave it out)",
                           name_of(choices.groups), name);
    if (may == grouping_rule::whole && choices.groups != clip_grouping::flat)
        return fmt::format(
            R"(clip.groups is "{}", but method {} clips the whole gradient as one: give "flat" or leave )"
            R"(it out)",
            name_of(choices.groups), name);
    return {};
}

/// Keys of the learner that a prepared policy has no use for, and of the schedule that it brings.
finding prepared(const run_config& config) {
    const auto& rl = config.rl;
    const bool chosen = resolve_choices(config).prepared;
    const auto mode = rl.policy.value_or(controller_mode::learned);
    if (rl.signer && !rl.controller) return "rl.signer says who signed rl.controller, which is not there; leave it out";
    if (!chosen && (mode == controller_mode::shuffled || mode == controller_mode::deaf))
        return fmt::format(R"(rl.policy "{}" is a control of prepared policies; give "random" or "frozen")",
                           name_of(mode));
    if (rl.online && !chosen)
        return R"(rl.online lets a prepared policy learn, and this run has none; give rl.state "prepared", or leave it out)";
    if (rl.online && mode != controller_mode::learned)
        return fmt::format(R"(rl.online is true, but rl.policy "{}" is a control that learns nothing; leave one out)",
                           name_of(mode));
    if (rl.online && !config.public_data.path)
        return "rl.online learns from the loss on public records, and there are none; give public.path, or leave it "
               "out";
    if (!chosen)
        return rl.controller ? finding(R"(rl.controller is of rl.state "prepared"; set that, or leave it out)")
                             : finding();
    if (config.privacy.semantics != semantics::sound)
        return R"(rl.state "prepared" is no part of as_published; give "published")";
    if (resolve_choices(config).policy != policy_kind::fixed)
        return fmt::format(
            R"(noise.policy is "{}", but policies are prepared on runs of one noise level; give "fixed" or )"
            "leave it out",
            name_of(resolve_choices(config).policy));
    if (const auto divided = resolve_choices(config).allocation; divided != allocation::shares)
        return fmt::format(
            R"(noise.allocation is "{}", but rl.state "prepared" gives all adapters equal shares; give "shares")",
            name_of(divided));
    if (const auto given = find_published_key(config))
        return fmt::format(R"({} is of rl.state "published"; leave it out)", *given);
    if (const auto given = find_schedule_key(config))
        return fmt::format("{} has no part in a run whose schedule rl.controller brings; leave it out", *given);
    return {};
}

finding steered(const run_config& config) {
    const auto& row = find_method(config);
    if (auto found = prepared(config)) return found;
    if (resolve_choices(config).statistics_share == 0 && config.privacy.semantics == semantics::sound)
        return fmt::format(
            "noise.statistics_share is 0, but method {} steers by the statistics it pays for; give {}, or use "
            "method.name static",
            row.name, row.statistics_share);
    if (acts_on(config, controller_action::shares) && resolve_choices(config).allocation != allocation::shares)
        return fmt::format(R"(rl.actions has "shares", but noise.allocation is "{}"; set noise.allocation to "shares")",
                           name_of(resolve_choices(config).allocation));
    if (config.rl.replay < config.rl.batch)
        return fmt::format("rl.replay is {}, below rl.batch {}; no update could ever run", config.rl.replay,
                           config.rl.batch);
    return {};
}

finding method(const run_config& config) {
    return find_method(config).steered() ? steered(config) : unsteered(config);
}

finding sizes(const run_config& config) {
    const auto& clip = config.clip;
    const double initial = resolve_choices(config).initial_radius;
    if (!(clip.min <= initial && initial <= clip.max))
        return fmt::format("clip.initial is {}, outside [clip.min, clip.max] = [{}, {}]", initial, clip.min, clip.max);
    return length_problem(config);
}

finding held_out(const run_config& config) {
    const auto& eval = config.eval;
    if (eval.classes && !eval.target) return "eval.classes are values of eval.target, which is not given; give both";
    if (eval.classes && eval.classes->size() < 2)
        return "eval.classes has fewer than two values, among which nothing can be guessed; give the others, too";
    if (eval.publish != publication::noised) return {};
    if (config.data.split == split_kind::exact)
        return R"(eval.publish is "private", but data.split "exact" lets one unit move others between the sides; give )"
               R"(eval.publish "none" or "raw", or data.split "hash")";
    return {};
}

finding audit(const run_config& config) {
    const auto& audit = config.audit;
    if (audit.look_canaries > 0 && config.eval.looks_made() == 0)
        return R"(audit.look_canaries are among held-out units that looks are at; they need eval.publish "private")";
    if (!audit.guesses) return {};
    if (*audit.guesses % 2 != 0)
        return fmt::format("audit.guesses is {}; it must be even, half for \"in\" and half for \"out\"",
                           *audit.guesses);
    const std::pair<const char*, std::int64_t> kinds[] = {{"canaries", audit.canaries},
                                                          {"gradient_canaries", audit.gradient_canaries},
                                                          {"look_canaries", audit.look_canaries}};
    for (const auto& [name, count] : kinds)
        if (count > 0 && *audit.guesses > count)
            return fmt::format("audit.guesses is {}, more than audit.{}, which is {}", *audit.guesses, name, count);
    return {};
}

}  // namespace

std::optional<std::string> length_problem(const run_config& config) {
    if (!config.train.epochs || !config.train.steps) return {};
    return fmt::format("train.steps is {} and train.epochs is {}; give one of the two", *config.train.steps,
                       *config.train.epochs);
}

std::optional<std::string> rate_problem(const run_config& config, std::int64_t population) {
    if (config.train.expected_batch_size.value_or(1) <= population) return {};
    return fmt::format(
        "train.expected_batch_size is {}, above the population of {} units; lower it, for the sampling rate can't "
        "exceed 1",
        *config.train.expected_batch_size, population);
}

std::optional<std::string> problem(const run_config& config) {
    for (const auto check :
         {ranges, contract, book, number_types, whole, learning, method_keys, method, sizes, held_out, audit})
        if (auto found = check(config)) return found;
    return {};
}

void validate(const run_config& config) {
    if (const auto found = problem(config)) refuse(*found);
}

}  // namespace rldp::config

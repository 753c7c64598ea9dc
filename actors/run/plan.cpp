#include "actors/run/plan.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "actors/run/inputs.hpp"
#include "actors/run/kept_corpus.hpp"
#include "actors/run/method.hpp"
#include "actors/run/public_lessons.hpp"
#include "actors/run/steering.hpp"
#include "config/base/accountants.hpp"
#include "config/base/error.hpp"
#include "config/base/machine_memory.hpp"
#include "config/method_choices.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "data/units/load_tokens.hpp"
#include "eval/metrics/json_number.hpp"
#include "models/device.hpp"
#include "models/weights.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/look.hpp"
#include "privacy/spending/book_files.hpp"
#include "rl/prepare/policy_description.hpp"

namespace rldp::actors {

namespace {

privacy::spending_plan privacy_plan(const config::run_config& config, std::int64_t population) {
    const auto padded = padding_of(config, population, 1);  // what it costs does not depend on lengths
    return {.epsilon = config.privacy.epsilon,
            .delta = config.privacy.delta - (padded ? padded->delta : 0),
            .sample_rate = static_cast<double>(config::batch_of(config)) / static_cast<double>(population),
            .steps = config::planned_steps(config, population),
            .interval = config::chosen(config.rl.interval, "rl.interval"),
            .accountant = config.privacy.accountant,
            .deck_levels = config.noise.deck.levels,
            .deck_ratio = config.noise.deck.ratio};
}

/// Padding is asked for to hide the draw; a machine that then runs out of memory would show it after all.
void check_memory(const config::run_config& config, const models::model_config& model,
                  const models::lora_layout& layout, run_plan& plan) {
    const auto room = room_of(config);
    if (plan.memory.total() <= room.bytes) return;
    auto other = config;
    other.train.micro_batch.reset();
    choose_micro_batch(other, model, layout, plan.population, plan.max_tokens);
    const auto left = memory_of(other, model, layout, plan.population, plan.max_tokens).total();
    const auto said =
        fmt::format("a run takes about {} where records are as long as data.max_tokens, {}, and {} has {}; ",
                    memory_text(plan.memory.total()), plan.max_tokens, room.owner, memory_text(room.bytes)) +
        (left <= room.bytes  ? fmt::format("train.micro_batch {} takes {}", *other.train.micro_batch, memory_text(left))
         : layout.is_whole() ? "lower data.max_tokens"
                             : "lower data.max_tokens, or take model.checkpoint_activations or model.dtype bfloat16");
    if (plan.padded) refuse("privacy.pad_batches: " + said);
    plan.warnings.push_back("memory: " + said);
}

/// Two programs share a card, not its memory. (Before the model is there, which a run would count among the others.)
void warn_of_others(const models::card& card, run_plan& plan) {
    if (const auto need = plan.memory.total(); need > card.free && need <= card.all)
        plan.warnings.push_back(
            fmt::format("device: a run takes about {}, and of the CUDA device's {} other programs leave {}; nvidia-smi "
                        "names them",
                        memory_text(need), memory_text(card.all), memory_text(card.free)));
}

}  // namespace

std::unique_ptr<privacy::spending_policy> policy_of(const config::run_config& config, std::int64_t population,
                                                    std::vector<privacy::card> ledger_deck) {
    auto plan = privacy_plan(config, population);
    plan.ledger_deck = std::move(ledger_deck);
    return privacy::make_policy(config::choices_of(config).policy, plan);
}

std::map<std::string, double> epsilon_of(const std::vector<privacy::phase>& runs, double delta) {
    std::map<std::string, double> out;
    for (const auto& name : accountant_names()) out[name] = privacy::make_accountant(name)->epsilon(runs, delta);
    return out;
}

published_price price_as_published(std::vector<privacy::phase> charged, std::size_t groups, double delta) {
    const double printed = privacy::published_epsilon(privacy::published_formula::printed, charged, delta);
    for (auto& run : charged) run.noise_multiplier /= std::sqrt(static_cast<double>(groups));
    return {printed, privacy::make_accountant("pld")->epsilon(charged, delta)};
}

bool computes_apart(const config::run_config& config) {
    return config.device == "cpu" || config.model.dtype != "float32";
}

static_assert(2 * config::most_batch <= privacy::most_units, "no draw is larger than what a step's sum holds");

double rounding_margin_of(const config::run_config& config) {
    if (config.privacy.semantics == semantics::as_published) return 0;  // which charges nothing for it either
    if (computes_apart(config)) return 0;
    // A hundred times what was measured at B = 64 (bench_rounding). The others' errors are independent of each other,
    // so their sum grows as √B.
    return 1e-3 * std::max(1.0, std::sqrt(static_cast<double>(config::batch_of(config)) / 64));
}

namespace {

/// A mechanism that publishes every unit with probability δ meets an (ε, δ) contract, and publishes Nδ of them.
void check_delta(const config::run_config& config, std::int64_t population, std::vector<std::string>& warnings) {
    const double delta = config.privacy.delta, least = 1 / static_cast<double>(population);
    if (delta < least) return;
    const auto said = fmt::format(
        "privacy.delta is {:g}, not below 1/N = {:.3g}: publishing one record outright would keep such a contract",
        delta, least);
    if (!config.privacy.accept_large_delta && config.privacy.semantics == semantics::sound)
        refuse(said + "; lower it, to a tenth of that or less, or set privacy.accept_large_delta");
    warnings.push_back(said);
}

/// Budgets that a run can't do anything with, or that hardly bind it.
void warn_of_budget(const config::run_config& config, run_plan& plan) {
    if (config.privacy.semantics != semantics::sound) return;
    const auto batch = static_cast<double>(config::batch_of(config));
    if (plan.noise_multiplier > batch)
        plan.warnings.push_back(
            fmt::format("privacy.epsilon is {:g}, which takes noise of {:.3g} clip radii in every coordinate of each "
                        "step: more than the gradients of {} units could amount to if all agreed, so that nothing will "
                        "be learned; raise it, or the expected batch size",
                        plan.epsilon_budget, plan.noise_multiplier, config::batch_of(config)));
    // Ponomareva et al. 2023, "How to DP-fy ML", section 5.2: their third tier, of weak or no formal protection.
    constexpr double weak = 10;
    if (plan.epsilon_budget > weak)
        plan.warnings.push_back(
            fmt::format("privacy.epsilon is {:g}: odds that a record was used may change by a factor of {:.2g}, which "
                        "promises hardly anything; contracts of at most 10 are usual",
                        plan.epsilon_budget, std::exp(plan.epsilon_budget)));
}

/// A rate that falls needs steps to fall over.
void check_schedule(const config::run_config& config, std::int64_t steps) {
    const auto schedule = config::choices_of(config).schedule;
    if (schedule == "constant" || config::choices_of(config).prepared) return;
    const auto warmup = config::chosen(config.train.warmup, "train.warmup");
    const auto& decay = config.train.decay;
    if (warmup >= steps)
        refuse(fmt::format("train.warmup is {} of {} steps, which leaves none for schedule \"{}\"; lower it", warmup,
                           steps, schedule));
    if (decay && *decay > steps - warmup)
        refuse(fmt::format("train.decay is {}, but {} steps less {} of warm-up leave {}; lower it", *decay, steps,
                           warmup, steps - warmup));
}

/// Whether the policy that ships was prepared on runs of as many steps.
bool is_vouched_for(config::run_config config, std::int64_t population, std::int64_t width) {
    if (config.rl.state || !config::choices_of(config).prepared) return false;  // nobody asks
    if (config.train.is_whole()) return false;                                  // prepared on adapters
    config::choose_open_keys(config, population, width);
    return rl::doubts_of(rl::prepared_policy::shipped(), config::planned_steps(config, population)).empty();
}

/// What privacy.book comes to. Which book `found` finds follows from the data: it is no part of a plan.
std::optional<config::choice> place_of_book(const config::run_config& config) {
    const auto& asked = *config.privacy.book;
    if (asked == no_book || is_book_path(asked)) return {};
    return config::choice{"privacy.book", nlohmann::json(asked).dump(),
                          asked == found_book ? "of the books in " + privacy::books_home().string() +
                                                    " the one with data like these, or a new one"
                                              : (privacy::books_home() / asked).string()};
}

/// What looks at held-out units cost in exactness. From N and the configuration alone: how many units there really are
/// is nobody's business.
void plan_looks(const config::run_config& config, run_plan& plan) {
    if (config.eval.published() == publication::raw)
        plan.warnings.push_back(fmt::format(
            "eval.publish: raw: exact figures of held-out units go out, so nothing protects {}; \"private\" would",
            config.privacy.unit_is_group ? fmt::format("those {} whose records are held out", config.privacy.unit)
                                         : std::string("held-out records")));
    if (config.eval.looks_made() == 0) return;
    plan.looks.count = std::ssize(config::look_steps(config, plan.steps));
    // Where training promises nothing, noise would protect nobody.
    if (std::isfinite(plan.guaranteed_epsilon))
        plan.looks.noise_multiplier =
            privacy::noise_of_looks(plan.looks.count, plan.guaranteed_epsilon, config.privacy.delta);
    plan.looked_at = std::min(data::expected_held_out({}, plan.population),
                              static_cast<double>(config::chosen(config.train.eval_records, "train.eval_records")));
    const double reach = config::chosen(config.eval.clip, "eval.clip");
    plan.look_within = reach * privacy::expected_within(plan.looks.noise_multiplier, plan.looked_at);
    constexpr double little = 0.3;  // nats per token: what a run often has to show
    if (plan.look_within > little)
        plan.warnings.push_back(fmt::format(
            "eval.looks: each of {} looks at about {:.0f} held-out units tells their mean loss to ±{:.2g} nats "
            "per token, which may be more than training changes; make fewer looks (eval.looks), look at more "
            "units, or give eval.publish \"none\" and read trusted/held_out.json",
            plan.looks.count, plan.looked_at, plan.look_within));
}

}  // namespace

chosen_config with_choices(config::run_config config, std::int64_t units, const models::model_config& model) {
    chosen_config out{std::move(config), {}};
    const auto population = out.config.privacy.population.value_or(units);
    if (auto state = config::choose_state(out.config, is_vouched_for(out.config, population, model.width)))
        out.choices.push_back(std::move(*state));
    const auto policy = prepared_policy_of(out.config);
    if (policy && !out.config.rl.interval) {
        out.config.rl.interval = policy->parts().interval;
        out.choices.push_back(
            {"rl.interval", std::to_string(*out.config.rl.interval), "rl.controller was prepared for it"});
    }
    for (auto& made : config::choose_open_keys(out.config, population, model.width))
        out.choices.push_back(std::move(made));
    if (auto made = config::choose_clip(out.config, model.vocab)) out.choices.push_back(std::move(*made));
    if (auto made = choose_micro_batch(out.config, model, layout_of(out.config, model), population,
                                       token_limit(out.config, model)))
        out.choices.push_back(std::move(*made));
    if (!out.config.privacy.book) out.config.privacy.book = no_book;
    if (auto place = place_of_book(out.config)) out.choices.push_back(std::move(*place));
    config::validate(out.config);  // of what is chosen beside what is given
    return out;
}

run_plan plan_run(const config::run_config& config, std::int64_t units, const models::model_config& model,
                  const models::lora_layout& layout) {
    run_plan out;
    if (auto doubt = models::doubt_of(model, config.model.path)) out.warnings.push_back(std::move(*doubt));
    out.population = config.privacy.population.value_or(units);
    out.steps = config::planned_steps(config, out.population);
    check_schedule(config, out.steps);
    out.sample_rate = static_cast<double>(config::batch_of(config)) / static_cast<double>(out.population);
    out.epsilon_budget = config.privacy.epsilon;
    out.delta = config.privacy.delta;
    check_delta(config, out.population, out.warnings);
    out.max_tokens = token_limit(config, model);
    out.padded = padding_of(config, out.population, out.max_tokens);
    const auto policy = policy_of(config, out.population);
    out.noise_multiplier = policy->initial_noise_multiplier();
    out.guaranteed_epsilon = policy->guaranteed_epsilon();
    warn_of_budget(config, out);
    plan_looks(config, out);
    auto planned = policy->committed();
    if (planned.empty()) planned = {{out.noise_multiplier, out.sample_rate, out.steps}};
    const double mechanism_delta = out.delta - (out.padded ? out.padded->delta : 0);
    out.epsilon = epsilon_of(planned, mechanism_delta);
    out.groups = group_names(config, layout);
    check_noise_left(config, model, layout, out);
    if (config.privacy.semantics == semantics::as_published)
        out.published = price_as_published(planned, out.groups.size(), mechanism_delta);
    out.trainable_parameters = layout.dimension;
    out.memory = memory_of(config, model, layout, out.population, out.max_tokens);
    if (config.privacy.unit_is_group) out.max_records_per_unit = config.privacy.max_records_per_unit;
    out.rounding_margin = rounding_margin_of(config);
    check_memory(config, model, layout, out);
    if (config.noise.insecure_reproducible)
        out.warnings.emplace_back(
            "noise.insecure_reproducible: draws and noise follow from the seed; there is NO guarantee");
    if (config.privacy.semantics == semantics::as_published)
        out.warnings.emplace_back("privacy.semantics: as_published carries NO guarantee");
    if (const auto& book = config.privacy.book; book && is_book_path(*book) && privacy::is_of_earlier_version(*book))
        out.warnings.push_back(
            fmt::format("privacy.book: {} is of an earlier version, beside the configuration, and is gone on with; to "
                        "have it found from everywhere, move it to where rldp book finds others and give its name",
                        *book));
    if (config.data.split == "exact")
        out.warnings.emplace_back(
            "data.split: exact shares of a shuffled table; the guarantee is conditional on the split");
    if (config::method_of(config).steered()) {
        const auto interval = *config.rl.interval, first = interval * (*config.rl.warmup / interval + 1);
        if (first >= out.steps)
            out.warnings.push_back(
                fmt::format("rl.interval: with rl.warmup the first decision would come after step {} of {}, so the "
                            "controller never decides, though its statistics are paid for; lower them, or use "
                            "method.name static",
                            first, out.steps));
    }
    out.policy = prepared_policy_of(config);
    if (out.policy) {
        out.controller = rl::description_of(*out.policy);
        if (config.rl.policy != "learned")
            out.controller.push_back(fmt::format("rl.policy \"{}\": a control in its place", config.rl.policy));
        if (config.rl.online)
            out.controller.emplace_back("rl.online: it goes on learning in the run, from the loss on public records");
        for (auto& doubt : rl::doubts_of(*out.policy, out.steps)) out.warnings.push_back(std::move(doubt));
    }
    if (config.data.canaries > 0 && config.data.keep == "head")
        out.warnings.emplace_back(
            "data.keep: head can cut canaries away, which stand at the end of a record; use tail");
    if (!config.privacy.population)
        out.warnings.push_back(
            fmt::format("privacy.population: not declared; the number of training units, {}, is taken as "
                        "public",
                        out.population));
    return out;
}

run_plan check(const config::run_config& config, const checking& how) {
    const auto model = models::read_model(config.model.path);
    const auto layout = layout_once_taught(config, layout_of(config, model));
    const auto card = models::card_of(device_of(config), "device");
    const auto plan_of = [&](std::int64_t units) {
        auto [full, choices] = with_choices(config, units, model);
        auto out = plan_run(full, units, model, layout);
        out.choices = std::move(choices);
        if (card) warn_of_others(*card, out);
        return out;
    };
    check_sources(config, how.without_data);
    const bool weights = models::has_weights(config.model.path);
    if (weights) check_gradients(load_model(config, {.tell = how.tell}), config.model.path);
    const auto bare =
        config.model.path + ": holds config.json only; a run needs the model's safetensors and tokenizer there";
    if (config.privacy.population && (how.without_data || !weights)) {
        auto out = plan_of(*config.privacy.population);
        if (how.without_data) out.warnings.emplace_back("--without-data: neither data.path nor its template was read");
        if (!weights) out.warnings.push_back(bare);
        return out;
    }
    if (!weights) refuse(bare);
    const auto tokens = load_tokenizer(config, model);
    auto data = load_data(config, *tokens, token_limit(config, model), kept_corpus::of_reader(config).get(), how.tell);
    const auto units = static_cast<std::int64_t>(data.train.size());
    auto out = plan_of(units);
    held_out_of(with_choices(config, units, model).config, std::move(data.held_out), *tokens,
                token_limit(config, model));  // for its refusals
    out.counts = counts_of(data);
    // For the owner, who asked: a run says nothing of it.
    if (2 * out.counts->cut > out.counts->records)
        out.warnings.push_back(
            fmt::format("PRIVATE: most records are longer than {} tokens and are cut (rldp preview shows where); raise "
                        "data.max_tokens, or have data.template tell less",
                        out.max_tokens));
    out.warnings.insert(out.warnings.end(), data.warnings.begin(), data.warnings.end());
    return out;
}

run_plan::private_counts counts_of(const run_data& data) {
    return {.units = std::ssize(data.train),
            .records = data.records,
            .cut = data.cut,
            .canaries = std::ssize(data.planted),
            .book = {}};
}

namespace {

nlohmann::json looks_json(const run_plan& plan) {
    if (plan.looks.count == 0) return nullptr;
    return {{"count", plan.looks.count},
            {"noise_multiplier", plan.looks.noise_multiplier},
            {"expected_units", plan.looked_at},
            {"within_nats_per_token", plan.look_within}};
}

}  // namespace

std::string to_json(const run_plan& plan, bool counts) {
    nlohmann::json epsilon;
    for (const auto& [name, value] : plan.epsilon) epsilon[name] = eval::json_number(value);
    nlohmann::json out{{"population", plan.population},
                       {"sample_rate", plan.sample_rate},
                       {"steps", plan.steps},
                       {"noise_multiplier", plan.noise_multiplier},
                       {"guaranteed_epsilon", eval::json_number(plan.guaranteed_epsilon)},
                       {"delta", plan.delta},
                       {"looks", looks_json(plan)},
                       {"epsilon", epsilon},
                       {"groups", plan.groups.size()},
                       {"adapters", plan.groups},
                       {"trainable_parameters", plan.trainable_parameters},
                       {"memory_bytes", plan.memory.total()},
                       {"max_tokens", plan.max_tokens},
                       {"max_records_per_unit", plan.max_records_per_unit},
                       {"rounding_margin", plan.rounding_margin},
                       {"warnings", plan.warnings}};
    out["chosen"] = nlohmann::json::array();
    for (const auto& one : plan.choices)
        out["chosen"].push_back(
            {{"key", one.key}, {"value", nlohmann::json::parse(one.value)}, {"reason", one.reason}});
    if (!plan.controller.empty()) out["controller"] = plan.controller;
    if (plan.published) {
        out["printed_formula_epsilon"] = eval::json_number(plan.published->printed_formula);
        out["tight_epsilon_as_released"] = eval::json_number(plan.published->tight_as_released);
    }
    if (plan.padded)
        out["padding"] = {{"units", plan.padded->units},
                          {"records_per_unit", plan.padded->shape.records},
                          {"tokens_per_record", plan.padded->shape.tokens},
                          {"delta", plan.padded->delta}};
    if (counts && plan.counts)
        out["private_counts"] = {{"units", plan.counts->units},
                                 {"records", plan.counts->records},
                                 {"records_cut", plan.counts->cut},
                                 {"canaries", plan.counts->canaries}};
    return out.dump(2);
}

}  // namespace rldp::actors

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "base/system.hpp"
#include "config/open_keys.hpp"
#include "data/units/load_tokens.hpp"
#include "models/device.hpp"
#include "models/weight_files.hpp"
#include "models/weights.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/look.hpp"
#include "privacy/spending/book_files.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/cached_corpus.hpp"
#include "run/factories.hpp"
#include "run/inputs.hpp"
#include "run/plan.hpp"
#include "run/public_training.hpp"
#include "run/resolve.hpp"
#include "run/session.hpp"

namespace rldp::actors {

namespace {

/// Whom a step may draw: N units, and each of the audit's canaries whose coin says so, which are drawn as they are.
std::int64_t count_drawable(const config::run_spec& spec) {
    return spec.privacy.population + spec.audit.canaries;
}

/// The probability that more than `room` units are drawn and fall to one of so many ranks.
double excess(const config::run_spec& spec, std::size_t ranks, std::int64_t room) {
    const auto most = count_drawable(spec);
    if (room >= most) return 0;
    const double rate =
        static_cast<double>(spec.train.expected_batch_size) / static_cast<double>(spec.privacy.population);
    const boost::math::binomial draw(static_cast<double>(most), rate / static_cast<double>(ranks));
    return boost::math::cdf(complement(draw, static_cast<double>(room)));
}

}  // namespace

std::optional<padding> choose_padding(const config::run_spec& spec, std::int64_t max_tokens) {
    if (!spec.privacy.pad_batches) return std::nullopt;
    const double factor = static_cast<double>(spec.train.steps * spec.privacy.runs) *
                          (1 + std::exp(std::min(spec.privacy.epsilon_budget, 700.0)));
    const auto cost = [&](std::int64_t room) { return factor * excess(spec, 1, room); };
    padding out;
    out.units = std::min(spec.train.expected_batch_size, spec.privacy.population);
    while (cost(out.units) > spec.privacy.delta / 100) ++out.units;
    out.delta = cost(out.units);
    out.shape = {.records = spec.records_per_unit, .tokens = max_tokens};
    return out;
}

padding padding_of_rank(const padding& all, const config::run_spec& spec, std::size_t ranks) {
    auto out = all;
    if (ranks == 1) return out;
    const double most = excess(spec, 1, all.units);
    const auto count = static_cast<std::int64_t>(ranks);
    out.units = std::min(spec.privacy.population, (spec.train.expected_batch_size + count - 1) / count);
    while (static_cast<double>(ranks) * excess(spec, ranks, out.units) > most) ++out.units;
    return out;
}

namespace {

privacy::spending_plan privacy_plan(const config::run_spec& spec) {
    const auto padded = choose_padding(spec, 1);  // what it costs does not depend on lengths
    return {.epsilon_budget = spec.privacy.epsilon_budget,
            .delta = spec.privacy.delta - (padded ? padded->delta : 0),
            .sample_rate =
                static_cast<double>(spec.train.expected_batch_size) / static_cast<double>(spec.privacy.population),
            .steps = spec.train.steps,
            .interval = spec.controller.interval,
            .accountant = spec.privacy.accountant,
            .deck_levels = spec.privacy.deck.levels,
            .deck_ratio = spec.privacy.deck.ratio,
            .bands = spec.privacy.bands,
            .runs = spec.privacy.runs};
}

std::string advise_sharing(config::reading_spec spec, const workload& work, const models::model_config& model,
                           const models::lora_layout& layout) {
    if (spec.model.shares() || spec.trains_base()) return {};
    spec.model.shard = true;
    const auto ranks = find_least_ranks(spec, model, layout, work);
    if (!ranks) return {};
    return fmt::format("; or share the base: with model.shard {} ranks hold it, each with such memory", *ranks);
}

/// Padding is asked for to hide the draw; a machine that then runs out of memory would show it after all.
void check_memory(const config::reading_spec& spec, const workload& work, const models::model_config& model,
                  const models::lora_layout& layout, run_plan& plan) {
    const auto room = find_room(spec);
    if (plan.memory.total() <= room.bytes) return;
    auto less = work;
    less.micro_batch = choose_micro_batch(spec, model, layout, work).count;
    const auto left = estimate_memory(spec, model, layout, less).total();
    const auto said =
        fmt::format("a run takes about {} where records are as long as data.max_tokens, {}, and {} has {}; ",
                    memory_text(plan.memory.total()), plan.max_tokens, room.owner, memory_text(room.bytes)) +
        (left <= room.bytes ? fmt::format("train.micro_batch {} takes {}", less.micro_batch, memory_text(left))
         : layout.trains_base()
             ? "lower data.max_tokens"
             : "lower data.max_tokens, or take model.checkpoint_activations or model.dtype bfloat16");
    if (plan.padded) refuse("privacy.pad_batches: " + said);
    plan.warnings.push_back("memory: " + said + advise_sharing(spec, work, model, layout));
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

std::unique_ptr<privacy::spending_policy> make_spending_policy(const config::run_spec& spec,
                                                               std::vector<privacy::card> ledger_deck) {
    auto plan = privacy_plan(spec);
    plan.ledger_deck = std::move(ledger_deck);
    return privacy::make_policy(spec.privacy.policy, plan);
}

privacy::look_plan choose_looks(const config::run_spec& spec, double epsilon_guaranteed) {
    privacy::look_plan out;
    if (spec.train.looks == 0) return out;
    out.count = std::ssize(config::look_steps(spec.train.looks, spec.train.steps));
    // Where training promises nothing, noise would protect nobody.
    if (std::isfinite(epsilon_guaranteed))
        out.noise_multiplier =
            privacy::noise_of_looks(out.count * spec.privacy.runs, epsilon_guaranteed, spec.privacy.delta);
    return out;
}

std::map<std::string, double> compute_epsilon(const std::vector<privacy::phase>& runs, double delta) {
    std::map<std::string, double> out;
    for (const auto& name : all_names<accountant_kind>())
        out[name] = privacy::make_accountant(name)->epsilon(runs, delta);
    return out;
}

published_price price_as_published(std::vector<privacy::phase> charged, std::size_t groups, double delta) {
    const double printed = privacy::published_epsilon(privacy::published_formula::printed, charged, delta);
    for (auto& run : charged) run.noise_multiplier /= std::sqrt(static_cast<double>(groups));
    return {printed, privacy::make_accountant("pld")->epsilon(charged, delta)};
}

bool computes_apart(const config::reading_spec& spec) {
    return spec.on_cpu() || spec.model.dtype != precision::float32;
}

static_assert(2 * config::most_batch <= privacy::most_units, "no draw is larger than what a step's sum holds");

double compute_rounding_margin(const config::run_spec& spec) {
    if (spec.privacy.semantics == semantics::as_published) return 0;  // which charges nothing for it either
    if (computes_apart(spec)) return 0;
    // A hundred times what was measured at B = 64 (bench_rounding). The others' errors are independent of each other,
    // so their sum grows as √B.
    return 1e-3 * std::max(1.0, std::sqrt(static_cast<double>(spec.train.expected_batch_size) / 64));
}

namespace {

/// A mechanism that publishes every unit with probability δ meets an (ε, δ) contract, and publishes Nδ of them.
void check_delta(const config::privacy_spec& of, std::vector<std::string>& warnings) {
    const double delta = of.delta, least = 1 / static_cast<double>(of.population);
    if (delta < least) return;
    const auto said = fmt::format(
        "privacy.delta is {:g}, not below 1/N = {:.3g}: publishing one record outright would keep such a contract",
        delta, least);
    if (!of.accept_large_delta && of.semantics == semantics::sound)
        refuse(said + "; lower it, to a tenth of that or less, or set privacy.accept_large_delta");
    warnings.push_back(said);
}

/// Budgets that a run can't do anything with, or that hardly bind it.
void warn_of_budget(const config::run_spec& spec, run_plan& plan) {
    if (spec.privacy.semantics != semantics::sound) return;
    const auto batch = static_cast<double>(spec.train.expected_batch_size);
    if (plan.noise_multiplier > batch)
        plan.warnings.push_back(
            fmt::format("privacy.epsilon is {:g}, which takes noise of {:.3g} clip radii in every coordinate of each "
                        "step: more than the gradients of {} units could amount to if all agreed, so that nothing will "
                        "be learned; raise it, or the expected batch size",
                        plan.epsilon_budget, plan.noise_multiplier, spec.train.expected_batch_size));
    // Ponomareva et al. 2023, "How to DP-fy ML", section 5.2: their third tier, of weak or no formal protection.
    constexpr double weak = 10;
    if (plan.epsilon_budget > weak)
        plan.warnings.push_back(
            fmt::format("privacy.epsilon is {:g}: odds that a record was used may change by a factor of {:.2g}, which "
                        "promises hardly anything; contracts of at most 10 are usual",
                        plan.epsilon_budget, std::exp(plan.epsilon_budget)));
}

/// A rate that falls needs steps to fall over.
void check_schedule(const config::train_spec& how) {
    if (how.schedule == rate_shape::constant) return;
    if (how.warmup >= how.steps)
        refuse(fmt::format("train.warmup is {} of {} steps, which leaves none for schedule \"{}\"; lower it",
                           how.warmup, how.steps, name_of(how.schedule)));
    if (how.schedule == rate_shape::wsd && how.decay > how.steps - how.warmup)
        refuse(fmt::format("train.decay is {}, but {} steps less {} of warm-up leave {}; lower it", how.decay,
                           how.steps, how.warmup, how.steps - how.warmup));
}

/// What looks at held-out units cost in exactness. From N and the configuration alone: how many units there really are
/// is nobody's business.
void plan_looks(const config::run_spec& spec, run_plan& plan) {
    if (spec.publish == publication::raw)
        plan.warnings.push_back(fmt::format(
            "eval.publish: raw: exact figures of held-out units go out, so nothing protects {}; \"private\" would",
            spec.group ? fmt::format("those {} whose records are held out", *spec.group)
                       : std::string("held-out records")));
    plan.looks = choose_looks(spec, plan.epsilon_guaranteed);
    if (plan.looks.count == 0) return;
    plan.looked_at = std::min(data::expected_held_out({}, plan.population), static_cast<double>(spec.eval_records));
    const double reach = spec.train.look_clip;
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

run_plan plan_run(const config::run_spec& spec, const models::model_config& model, const models::lora_layout& layout) {
    run_plan out;
    out.choices = spec.choices;
    if (auto doubt = models::find_warning(model, spec.model.path)) out.warnings.push_back(std::move(*doubt));
    out.population = spec.privacy.population;
    out.steps = spec.train.steps;
    if (spec.controller.kind != controller_kind::prepared) check_schedule(spec.train);
    out.sample_rate = static_cast<double>(spec.train.expected_batch_size) / static_cast<double>(out.population);
    out.bands = spec.privacy.bands;
    out.runs = spec.privacy.runs;
    privacy::check_bands(out.bands, {out.sample_rate, out.steps, out.population});
    out.epsilon_budget = spec.privacy.epsilon_budget;
    out.delta = spec.privacy.delta;
    check_delta(spec.privacy, out.warnings);
    out.max_tokens = token_limit(spec, model);
    out.padded = choose_padding(spec, out.max_tokens);
    const auto policy = make_spending_policy(spec);
    out.noise_multiplier = policy->initial_noise_multiplier();
    out.epsilon_guaranteed = policy->epsilon_guaranteed();
    warn_of_budget(spec, out);
    plan_looks(spec, out);
    out.committed = policy->committed();
    auto planned = out.committed;
    if (planned.empty()) planned = {{out.noise_multiplier, out.sample_rate, out.steps}};  // of one run alone
    const double mechanism_delta = out.delta - (out.padded ? out.padded->delta : 0);
    out.epsilon_committed = compute_epsilon(planned, mechanism_delta);
    out.groups = group_names(spec.clip.groups, layout);
    check_noise_left(spec, model, layout, out);
    if (spec.privacy.semantics == semantics::as_published)
        out.published = price_as_published(planned, out.groups.size(), mechanism_delta);
    out.trainable_parameters = layout.dimension;
    workload work{.population = out.population,
                  .expected_batch_size = spec.train.expected_batch_size,
                  .max_tokens = out.max_tokens,
                  .micro_batch = spec.train.micro_batch,
                  .ranks = 0,
                  .course_bytes = count_course_bytes(spec.config)};
    if (spec.model.shares()) out.least_ranks = find_least_ranks(spec, model, layout, work);
    work.ranks = out.least_ranks.value_or(0);
    out.memory = estimate_memory(spec, model, layout, work);
    out.max_records_per_unit = spec.records_per_unit;
    out.rounding_margin = compute_rounding_margin(spec);
    check_memory(spec, work, model, layout, out);
    if (spec.privacy.insecure_reproducible)
        out.warnings.emplace_back(
            "noise.insecure_reproducible: draws and noise follow from the seed; there is NO guarantee");
    if (spec.privacy.semantics == semantics::as_published)
        out.warnings.emplace_back("privacy.semantics: as_published carries NO guarantee");
    if (const auto& book = spec.privacy.book; is_book_path(book) && privacy::is_of_earlier_version(book))
        out.warnings.push_back(
            fmt::format("privacy.book: {} is of an earlier version, beside the configuration, and is gone on with; to "
                        "have it found from everywhere, move it to where rldp book finds others and give its name",
                        book));
    if (spec.data.split == split_kind::exact)
        out.warnings.emplace_back(
            "data.split: exact shares of a shuffled table; the guarantee is conditional on the split");
    if (spec.method.steered()) {
        const auto interval = spec.controller.interval, first = interval * (spec.controller.warmup / interval + 1);
        if (first >= out.steps)
            out.warnings.push_back(
                fmt::format("rl.interval: with rl.warmup the first decision would come after step {} of {}, so the "
                            "controller never decides, though its statistics are paid for; lower them, or use "
                            "method.name static",
                            first, out.steps));
    }
    const auto& steering = spec.controller;
    if (steering.kind == controller_kind::prepared) {
        out.policy = load_policy(steering.file, steering.signer);
        out.controller = rl::describe_policy(*out.policy);
        if (steering.mode != controller_mode::learned)
            out.controller.push_back(fmt::format("rl.policy \"{}\": a control in its place", name_of(steering.mode)));
        if (steering.online)
            out.controller.emplace_back("rl.online: it goes on learning in the run, from the loss on public records");
        for (auto& doubt : rl::list_warnings(*out.policy, describe_plan(spec, out)))
            out.warnings.push_back(std::move(doubt));
    }
    if (spec.data.canaries > 0 && spec.data.keep == kept_end::head)
        out.warnings.emplace_back(
            "data.keep: head can cut canaries away, which stand at the end of a record; use tail");
    if (!spec.declared_population)
        out.warnings.push_back(
            fmt::format("privacy.population: not declared; the number of training units, {}, is taken as "
                        "public",
                        out.population));
    return out;
}

run_plan check(config::run_config config, const checking& how) {
    auto reading = config::to_reading_spec(config);
    const auto path = reading.model.path;
    const auto model = models::read_model(path);
    const auto sharing = propose_sharing(config, model);
    if (sharing) reading = config::to_reading_spec(config);
    check_quantization(reading, model);
    const auto layout = choose_layout(reading, model);
    const auto card = models::find_card(resolve_device(reading), "device");
    const auto make_plan = [&](config::run_spec spec) {
        if (sharing) spec.choices.insert(spec.choices.begin(), *sharing);
        auto out = plan_run(spec, model, layout);
        if (sharing)
            out.warnings.push_back(fmt::format(
                "memory: a run in one process would take more than {} has to spare; start {} ranks or more on as many "
                "such machines or cards (docs/cluster.md)",
                find_room(reading).owner, out.least_ranks.value_or(2)));
        if (card) warn_of_others(*card, out);
        return out;
    };
    check_sources(reading, how.without_data);
    const bool weights = models::has_weights(path);
    if (weights) check_gradients(load_model(reading, {.in_passing = true, .tell = how.tell}), path);
    const auto bare = path + ": holds config.json only; a run needs the model's safetensors and tokenizer there";
    if (reading.declared_population && (how.without_data || !weights)) {
        auto out = make_plan(resolve(config, *reading.declared_population, model));
        if (how.without_data) out.warnings.emplace_back("--without-data: neither data.path nor its template was read");
        if (!weights) out.warnings.push_back(bare);
        return out;
    }
    if (!weights) refuse(bare);
    const auto tokens = load_tokenizer(reading, model);
    const auto doubt = doubt_rows(reading, *tokens, model);
    auto data =
        load_data(reading, *tokens, token_limit(reading, model), cached_corpus::of_reader(reading).get(), how.tell);
    const auto spec = resolve(config, static_cast<std::int64_t>(data.train.size()), model);
    auto out = make_plan(spec);
    if (how.entered) check_room(spec, out, data, *how.entered);
    make_held_out(spec, std::move(data.held_out), *tokens, out.max_tokens);  // for its refusals
    out.counts = count_data(data);
    // For the owner, who asked: a run says nothing of it.
    if (2 * out.counts->cut > out.counts->records)
        out.warnings.push_back(
            fmt::format("PRIVATE: most records are longer than {} tokens and are cut (rldp preview shows where); raise "
                        "data.max_tokens, or have data.template tell less",
                        out.max_tokens));
    out.warnings.insert(out.warnings.end(), data.warnings.begin(), data.warnings.end());
    if (doubt) out.warnings.push_back(*doubt);
    return out;
}

run_plan plan_without_reading(const config::run_config& config) {
    const auto reading = config::to_reading_spec(config);
    require(reading.declared_population.has_value(), "plan: without data N is declared");
    const auto model = models::read_model(reading.model.path);
    return plan_run(resolve(config, *reading.declared_population, model), model, choose_layout(reading, model));
}

double compute_epsilon_of_one(const config::run_config& config, const run_plan& plan) {
    auto phases = plan.committed;
    for (auto& each : phases) each.steps /= plan.runs;
    const double padding = plan.padded ? plan.padded->delta : 0;
    return privacy::make_accountant(config.privacy.accountant)->epsilon(phases, plan.delta - padding);
}

run_plan::private_counts count_data(const run_data& data) {
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
    for (const auto& [name, value] : plan.epsilon_committed) epsilon[name] = eval::json_number(value);
    nlohmann::json out{{"population", plan.population},
                       {"sample_rate", plan.sample_rate},
                       {"steps", plan.steps},
                       {"bands", plan.bands},
                       {"runs", plan.runs},
                       {"noise_multiplier", plan.noise_multiplier},
                       {"guaranteed_epsilon", eval::json_number(plan.epsilon_guaranteed)},
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
    if (plan.least_ranks) out["least_ranks"] = *plan.least_ranks;
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

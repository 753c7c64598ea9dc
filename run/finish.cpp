#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "data/chat/chat_template.hpp"
#include "data/sources/narrative.hpp"
#include "eval/report/certificate.hpp"
#include "eval/report/model_card.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/decoding/decoding_model.hpp"
#include "models/full_checkpoint.hpp"
#include "models/generate.hpp"
#include "models/weights.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/audit_evidence.hpp"
#include "run/finish.hpp"
#include "run/looks.hpp"
#include "run/run_end.hpp"
#include "run/synthesis/row_plan.hpp"
#include "run/synthesis/row_sampler.hpp"
#include "version.hpp"

namespace rldp::actors {

namespace {

namespace fs = std::filesystem;

/// What a public text may begin with.
std::string find_opening(const config::reading_spec& spec) {
    if (spec.data.chat) {
        const std::vector<data::chat_message> greeting = {{"user", "Hello."}};
        return private_source(spec).chat->render(greeting, true);
    }
    return spec.data.narrative ? data::read_template(*spec.data.narrative).opening : std::string();
}

/// What it writes would take minutes on a processor; and of a base that is shared the other ranks are gone by now.
bool is_too_large(const config::reading_spec& spec, const run_model& model) {
    constexpr std::int64_t most_parameters = 1'500'000'000;
    if (model.base->is_shared()) return true;
    return spec.on_cpu() && model.base->parameters() > most_parameters;
}

std::vector<std::string> generate_samples(const config::reading_spec& spec, const run_model& model,
                                          const at::Tensor& adapter) {
    constexpr std::int64_t samples = 3, length = 80;
    const auto& described = model.base->config();
    if (is_too_large(spec, model)) return {};
    const auto words = load_tokenizer(spec, described);
    const auto opening = find_opening(spec);
    auto ids = words->encode(opening);
    if (ids.empty() && !described.bos) return {};
    if (ids.empty()) ids.push_back(static_cast<std::int32_t>(*described.bos));
    const auto room = described.window - std::ssize(ids);
    if (room < 1) return {};
    const models::generation_config how{.how = {.temperature = 0.8, .top_p = 0.95},
                                        .max_new_tokens = std::min(length, room),
                                        .samples = samples,
                                        .stop = models::find_stop_tokens(spec.model.path)};
    const auto made =
        models::generate(*model.base, &model.layout, &adapter, {{ids, static_cast<std::uint64_t>(spec.seed)}}, how);
    std::vector<std::string> out;
    for (const auto& text : made.front()) out.push_back(opening + models::decode_after(*words, ids, text.ids));
    return out;
}

eval::made_up_table make_sample_rows(const session& run, const at::Tensor& adapter) {
    constexpr std::int64_t count = 8;
    // 64 MiB beside what a run takes: eight rows of a larger model may be slow.
    constexpr std::int64_t most_numbers_held = std::int64_t{1} << 24;
    if (!fs::exists(run.where.row_template()) || !run.spec.on_cpu() || is_too_large(run.spec, run.model)) return {};
    const auto& described = run.model.base->config();
    const auto words = load_tokenizer(run.spec, described);
    const auto how = data::parse_template(read_file(run.where.row_template()), run.where.row_template().string());
    const auto& layout = run.model.layout;
    try {
        const auto plan = plan_rows(how, {}, *words, described.bos, described.window);
        auto decoded =
            layout.trains_base()
                ? std::make_shared<const models::decoding_model>(run.model.base->tuned(layout, adapter), nullptr,
                                                                 nullptr, most_numbers_held)
                : std::make_shared<const models::decoding_model>(run.model.base, &layout, &adapter, most_numbers_held);
        const auto model = make_row_model(std::move(decoded), plan.opening);
        auto made = make_rows(model, plan, {.seed = static_cast<std::uint64_t>(run.spec.seed)}, 0, count, count);
        return {plan.table->columns, std::move(made.cells)};
    } catch (const error& fault) {
        if (fault.code() != errc::bad_input) throw;
        return {};  // the run was warned of it
    }
}

void add_utility(eval::run_summary& out, const evaluations& found) {
    out.perplexity_before = found.before ? found.before->perplexity : std::nan("");
    if (const auto& before = found.before) {
        out.perplexity_before_in = before->perplexity_in;
        out.value_nats_before = before->value_nats;
        out.value_token_nats_before = before->value_token_nats;
        out.value_token_nats_before_in = before->value_token_nats_in;
        out.bits_per_byte_before = before->bits_per_byte;
        out.accuracy_before = before->accuracy;
        out.accuracy_before_in = before->accuracy_in;
    }
    if (const auto& last = found.last) {
        out.perplexity_after = last->perplexity;
        out.perplexity_after_in = last->perplexity_in;
        out.value_nats_after = last->value_nats;
        out.value_token_nats_after = last->value_token_nats;
        out.value_token_nats_after_in = last->value_token_nats_in;
        out.bits_per_byte_after = last->bits_per_byte;
        out.accuracy_after = last->accuracy;
        out.accuracy_after_in = last->accuracy_in;
    }
    if (found.best) out.perplexity_best = found.best->perplexity;
    out.marginal_nats = found.floors.marginal_nats;
    out.template_perplexity = found.floors.template_perplexity;
    if (const auto& of = found.predicted) out.target = to_scores(*of);
}

std::string name_of_model(const config::model_section& model) {
    return model.name.value_or(shown_text(model_name(model.path)));
}

/// A warning may name a path, which is the owner's business.
std::string without_places(std::string warning, const std::vector<std::string>& all) {
    std::vector<std::string> places;
    for (const auto& one : all) places.push_back(one.substr(one.find('=') + 1));
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const auto& place : places)
        for (std::size_t at; (at = warning.find(place)) != std::string::npos;)
            warning.replace(at, place.size(), without_directory(place));
    return shown_text(warning);
}

void add_names(eval::run_summary& out, const session& run) {
    const auto& given = run.spec.run;
    const auto directory = std::filesystem::absolute(run.where.root).lexically_normal();
    out.date = given.date.value_or("");
    out.name =
        given.name.value_or(shown_path((directory.has_filename() ? directory : directory.parent_path()).filename()));
    out.tags = given.tags.value_or(std::vector<std::string>());
    out.notes = given.notes.value_or("");
    const auto& held_in = run.model.base->config().in_blocks.type;
    out.model = name_of_model(run.spec.model) + (held_in.empty() ? "" : " in " + held_in);
    out.data = shown_text(without_directory(run.spec.data.path));
}

eval::run_summary summarise(const session& run, const outcome& ended) {
    const auto ledger = privacy::read_ledger(run.where.ledger());
    const auto spent = ledger.phases();
    eval::run_summary out;
    out.version = RLDP_VERSION;
    add_names(out, run);
    out.how = ended.how;
    out.steps_planned = run.plan.steps;
    out.steps_done = ended.steps_done;
    out.steps_lost = ended.steps_lost;
    out.units = run.plan.population;
    out.base_parameters = run.model.base->parameters();
    out.trainable_parameters = run.plan.trainable_parameters;
    out.groups = run.plan.groups;
    add_utility(out, ended.held_out);
    out.held_out = ledger.header.held_out;
    out.looks = ledger.header.looks.count;
    out.looks_noise_multiplier = ledger.header.looks.noise_multiplier;
    out.epsilon_budget = run.spec.privacy.epsilon_budget;
    out.delta = run.spec.privacy.delta;
    out.epsilon_guaranteed = ledger.header.epsilon_guaranteed;
    if (!spent.empty()) out.epsilon_spent = compute_epsilon(spent, ledger.header.mechanism_delta());
    for (const auto& [name, value] : out.epsilon_spent)
        out.upper_bound[name] = privacy::make_accountant(name)->is_upper_bound();
    out.sample_rate = run.plan.sample_rate;
    out.bands = ledger.header.bands;
    out.runs = ledger.header.runs;
    out.method = run.spec.method.name;
    out.policy = ledger.header.policy;
    for (const auto& level : privacy::priced_phases(ledger.header.deck, ledger.header.sample_rate, ledger.header.steps))
        out.deck.emplace_back(level.noise_multiplier, level.steps);
    out.allocation = name_of(run.spec.method.allocation);
    out.semantics = run.spec.privacy.semantics;
    out.unit = run.spec.privacy.unit;
    out.split = name_of(run.spec.data.split);
    out.insecure_reproducible = run.spec.privacy.insecure_reproducible;
    if (out.semantics == semantics::as_published && !spent.empty()) {
        const auto price = price_as_published(spent, run.plan.groups.size(), out.delta);
        out.printed_formula_epsilon = price.printed_formula;
        out.tight_epsilon_as_released = price.tight_as_released;
    }
    out.kept = ended.kept;
    out.controller = run.plan.controller;
    const auto places = config::list_places(run.spec.config);
    for (const auto& warning : run.plan.warnings) out.warnings.push_back(without_places(warning, places));
    return out;
}

}  // namespace

eval::run_summary finish_run(const session& run, const outcome& ended, const privacy::signing_key* signed_by) {
    if (run.model.layout.trains_base())
        models::save_full_model(run.spec.model.path, run.model.layout, ended.adapter.cpu(), run.where.model());
    else
        models::save_adapter(run.where.adapter(), run.model.layout, ended.adapter.cpu(), name_of_model(run.spec.model),
                             run.model.base->config());
    if (ended.trace.defined()) write_trace(run.where.trace(), ended.trace);
    auto out = summarise(run, ended);
    if (ended.how != ending::interrupted) {
        out.table = make_sample_rows(run, ended.adapter);
        if (out.table.rows.empty()) out.samples = generate_samples(run.spec, run.model, ended.adapter);
    }
    reopen(run.where);
    write_file(run.where.summary(), eval::to_json(out) + "\n");
    eval::write_model_card(run.where, out, run.spec.model.path);
    const auto metrics = eval::read_metrics(run.where.metrics());
    write_file(run.where.metrics_csv(), eval::metrics_csv(metrics));
    write_file(run.where.report(), eval::report_html(out, metrics, read_file(run.where.config())));
    if (ended.how == ending::interrupted)
        eval::certify_run(run.where, signed_by);
    else
        end_run(run.where, signed_by);
    return out;
}

}  // namespace rldp::actors

#include "run/inputs.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "base/data_names.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "data/chat/chat_template.hpp"
#include "data/sources/narrative.hpp"
#include "data/sources/records.hpp"
#include "data/units/load_tokens.hpp"
#include "data/units/record_net.hpp"
#include "data/units/token_cache.hpp"
#include "models/device.hpp"
#include "models/marked_token.hpp"
#include "models/weights.hpp"
#include "privacy/keys/digest.hpp"
#include "run/cached_corpus.hpp"
#include "run/memory.hpp"
#include "run/model_files.hpp"
#include "run/ranks/team.hpp"
#include "run/record_tokens.hpp"
#include "run/shared_base.hpp"
#include "run/synthesis/row_plan.hpp"

namespace rldp::actors {

namespace {

std::shared_ptr<const data::chat_template> load_chat_template(const config::reading_spec& spec) {
    if (!spec.data.chat) return nullptr;
    auto found = read_chat_template(spec.model.path);
    if (!found)
        refuse(
            fmt::format("data.chat: {} has no chat template (chat_template.jinja, or chat_template in "
                        "tokenizer_config.json); take a model that was made for conversations, or leave data.chat out",
                        spec.model.path));
    return std::make_shared<const data::chat_template>(std::move(*found));
}

}  // namespace

data::source public_source(const config::reading_spec& spec) {
    return {.path = *spec.public_path,
            .ids_mapping = spec.data.ids_mapping,
            .narrative = spec.data.narrative,
            .group = std::nullopt,
            .made_up_seed = 2,  // not the rows that are trained on
            .table = spec.data.path,
            .chat = load_chat_template(spec)};
}

data::source private_source(const config::reading_spec& spec) {
    return {.path = spec.data.path,
            .ids_mapping = spec.data.ids_mapping,
            .narrative = spec.data.narrative,
            .group = spec.group,
            .chat = load_chat_template(spec)};
}

std::optional<std::string> publish_template(const config::reading_spec& spec) {
    if (!spec.data.narrative) return std::nullopt;
    const auto text = read_file(*spec.data.narrative);
    if (!data::parse_template(text, *spec.data.narrative).schema) return std::nullopt;
    const auto codes = data::load_code_book(private_source(spec));
    return data::publish_template(text, *spec.data.narrative, codes ? &*codes : nullptr);
}

std::optional<std::string> doubt_rows(const config::reading_spec& spec, const models::tokenizer& words,
                                      const models::model_config& model) {
    const auto published = publish_template(spec);
    if (!published) return std::nullopt;
    try {
        plan_rows(data::parse_template(*published, *spec.data.narrative), {}, words, model.bos, model.window);
        return std::nullopt;
    } catch (const error& fault) {
        if (fault.code() != errc::bad_input) throw;
        return fmt::format("rldp synthesize will make no table of this run: {}", fault.what());
    }
}

void check_sources(const config::reading_spec& spec, bool without_data) {
    if (without_data && !spec.declared_population)
        refuse("--without-data: declare privacy.population, from which it plans");
    if (without_data) return;
    const auto& path = spec.data.path;
    if (spec.declared_population && !names_no_file(path) && !std::filesystem::exists(path))
        refuse(fmt::format("data.path: {}: no such file; --without-data plans from privacy.population alone", path));
    for (const auto& [key, named] :
         {std::pair("data.template", spec.data.narrative), std::pair("data.ids_mapping", spec.data.ids_mapping)})
        if (named && !std::filesystem::exists(*named)) refuse(fmt::format("{}: {}: no such file", key, *named));
    data::open_records(private_source(spec));
    if (spec.public_path) data::open_records(public_source(spec));
}

namespace {

/// Recognises records of a file that is called public. Safe to call from several threads.
class public_records {
  public:
    explicit public_records(const config::reading_spec& spec) {
        // Made-up records are nobody's, also where some happen to be worded as a person's.
        if (!spec.public_path || is_made_up(*spec.public_path) || is_synthetic(spec.data.path)) return;
        path_ = *spec.public_path;
        std::error_code absent;
        if (std::filesystem::equivalent(path_, spec.data.path, absent)) refuse_it();
        const auto given = data::open_records(public_source(spec));
        data::for_each_record(*given, 1,
                              {.work = [&](std::size_t, const data::record_block& block, std::size_t i, std::size_t) {
                                  net_.add(block.at(i));
                              }});
    }

    /// Errors: bad_input where the file holds this record, too, which is to be protected.
    void operator()(const data::record& rendered) const {
        if (net_.holds(rendered)) refuse_it();
    }

  private:
    [[noreturn]] void refuse_it() const {
        refuse(
            fmt::format("public.path: {} shares records, or passages of {} words, with data.path, whose records are to "
                        "be protected; give a file of others",
                        path_, data::record_net::passage));
    }

    std::string path_;
    data::record_net net_;
};

data::split_rule make_split_rule(const config::reading_spec& spec) {
    return {.how = spec.data.split,
            .seed = spec.data.split_seed,
            .canaries = spec.data.canaries,
            .canary_length = spec.data.canary_length,
            .max_records = spec.records_per_unit,
            .population = spec.declared_population};
}

std::vector<data::unit> make_audit_canaries(const config::reading_spec& spec) {
    return data::make_audit_canaries(spec.data.split_seed, spec.audit.canaries);
}

int count_threads() {
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// What encodes, marks and inspects records: the tokenizer, and the public records that must not be among them.
std::string make_identity(const config::reading_spec& spec) {
    auto out = digest_beside_weights(spec.model.path);
    if (!spec.public_path) return out;
    const auto from = public_source(spec);
    return out + data::file_facts(from.path) + data::file_facts(data::find_code_book_path(from).value_or(""));
}

void mark_all(std::vector<data::token_unit>& units) {
    for (auto& unit : units)
        for (auto& record : unit.records) std::transform(record.begin(), record.end(), record.begin(), models::marked);
}

}  // namespace

data::split_rule make_training_split(const config::reading_spec& spec) {
    auto out = make_split_rule(spec);
    if (spec.audit.shadow) out.shadow = {.targets = spec.audit.targets, .number = *spec.audit.shadow};
    return out;
}

std::int64_t token_limit(const config::reading_spec& spec, const models::model_config& model) {
    const auto limit = spec.data.max_tokens.value_or(model.window);
    if (limit > model.window)
        refuse(fmt::format("data.max_tokens: {} is more than the window of {}, which is {} tokens; lower it", limit,
                           spec.model.path, model.window));
    return limit;
}

models::lora_layout choose_layout(const config::reading_spec& spec, const models::model_config& model) {
    if (spec.trains_base()) return models::make_tensor_layout(model, *spec.parameters);
    return make_adapters(spec, model, spec.lora.targets ? *spec.lora.targets : choose_targets(spec, model).targets);
}

at::Device resolve_device(const config::reading_spec& spec) {
    const auto out = models::find_device(spec.device, "device");
    if (const auto card = models::find_card(out, "device"))
        models::check_precision(*card, spec.model.dtype, "model.dtype");
    return out;
}

run_data load_data(const config::reading_spec& spec, const models::tokenizer& tokens, std::int64_t max_tokens,
                   cached_corpus* kept, const on_loading& tell) {
    std::optional<public_records> refuse_public;
    const data::token_rule how{.identity = kept ? make_identity(spec) : "",
                               .encode = [&](const std::string& text) { return tokens.encode(text); },
                               .max_tokens = max_tokens,
                               .keep_tail = spec.data.keep == kept_end::tail,
                               .threads = count_threads(),
                               .mark = [&](const data::record& rendered,
                                           std::vector<std::int32_t>& ids) { mark_values(rendered, tokens, ids); },
                               .mark_training = spec.marks_training(),
                               .held_out = spec.eval_records,
                               .inspect = [&](const data::record& rendered) { (*refuse_public)(rendered); },
                               .tell = tell};
    const auto from = private_source(spec);
    const auto split = make_training_split(spec);
    const auto read_now = [&](auto&... sink) {
        refuse_public.emplace(spec);
        return data::load_tokens(from, split, how, sink...);
    };
    const auto read_into = [&](data::token_sink& sink) { return read_now(sink); };
    auto read = kept ? kept->get(data::list_corpus_facts(from, split, how), read_into) : read_now();
    run_data out;
    if (read.held_out.records.empty() && spec.publish == publication::raw)
        refuse(spec.data.path + ": no record fell on the Eval side; give more records, or another data.split_seed");
    out.held_out = std::move(read.held_out);
    out.train = std::move(read.train);
    out.train_ids = std::move(read.train_ids);
    out.records = read.records;
    out.cut = read.cut;
    out.digest = std::move(read.digest);
    out.split = std::move(read.split);
    out.sketches = std::move(read.sketches);
    for (auto& [id, secret] : read.planted) out.planted.push_back({fmt::format("{:016x}", id), std::move(secret)});
    out.audit_canaries =
        data::tokenise(make_audit_canaries(spec), how.encode, max_tokens, how.keep_tail, how.threads).units;
    if (spec.data.chat) mark_all(out.audit_canaries);  // or they would not be learned
    out.warnings = std::move(read.warnings);
    if (const auto unmatched = tokens.unmatched(); !unmatched.empty())
        out.warnings.push_back(
            fmt::format("model.path: the tokenizer has tokens that the model has no row for ({}); in records they are "
                        "spelled",
                        fmt::join(unmatched, ", ")));
    if (const auto lost = tokens.lost_bytes(); !lost.empty())
        out.warnings.push_back(
            fmt::format("model.path: the tokenizer has no token for {} of the bytes that texts are made of ({:#04x}); "
                        "records lose them",
                        lost.size(), fmt::join(lost, ", ")));
    if (from.chat)
        if (auto endless = endless_answers(spec.model.path, *from.chat, tokens))
            out.warnings.push_back(std::move(*endless));
    return out;
}

audit_pool load_audit_pool(const config::reading_spec& spec) {
    const public_records refuse_public(spec);
    const auto read = [&](const data::split_rule& split) {
        return data::load_tokens(private_source(spec), split,
                                 {.encode = [](const std::string&) { return std::vector<std::int32_t>{}; },
                                  .max_tokens = 2,
                                  .threads = count_threads(),
                                  .held_out = 0,
                                  .targets = spec.audit.targets,
                                  .inspect = [&](const data::record& rendered) { refuse_public(rendered); }});
    };
    auto found = read(make_split_rule(spec));
    audit_pool out{std::move(found.audited), make_audit_canaries(spec), std::move(found.digest)};
    if (spec.audit.shadow) {
        found = read(make_training_split(spec));
        out.units.carriers = std::move(found.audited.carriers);
        out.digest = std::move(found.digest);
    }
    return out;
}

eval::held_out make_held_out(const config::reading_spec& spec, data::held_out_side side,
                             const models::tokenizer& tokens, std::int64_t max_tokens) {
    const auto share = data::share_of_held_out(spec.eval_records, side.expected_units);
    std::erase_if(side.records, [&](const auto& one) { return !data::is_looked_at(one.unit, share); });
    return make_held_out(
        side, {tokens, max_tokens, spec.target, spec.classes, spec.data.chat, spec.publish == publication::raw});
}

std::unique_ptr<const models::tokenizer> load_tokenizer(const config::reading_spec& spec,
                                                        const models::model_config& model) {
    const std::filesystem::path directory = spec.model.path;
    auto out = models::tokenizer::load(directory);
    if (spec.data.chat) out = models::once_begun(std::move(out));
    if (out->size() > model.vocab)
        refuse(
            fmt::format("{}: the tokenizer gives ids up to {}, the model has embeddings up to {}; remove the added "
                        "tokens beyond, or use the tokenizer that the model was trained with",
                        directory.string(), out->size() - 1, model.vocab - 1));
    return out;
}

void check_quantization(const config::reading_spec& spec, const models::model_config& model) {
    if (model.in_blocks.numbers == 0) return;
    if (spec.model.quantize != quantization::none)
        refuse(fmt::format("model.quantize: {} is quantized already ({}); leave it out", spec.model.path,
                           model.in_blocks.type));
    if (!spec.on_cpu())
        refuse(
            fmt::format("{}: quantized bases are computed on the processor alone so far; give device \"cpu\", or take "
                        "the model in bfloat16",
                        spec.model.path));
    if (spec.trains_base())
        refuse(
            fmt::format("train.parameters: {} is quantized ({}), and no gradient moves its numbers; train adapters, "
                        "or take the model in bfloat16",
                        spec.model.path, model.in_blocks.type));
}

run_model load_model(const config::reading_spec& spec, const model_reading& how) {
    const auto device = resolve_device(spec);
    const std::filesystem::path directory = spec.model.path;
    auto described = models::read_model(directory);
    check_quantization(spec, described);
    run_model out;
    out.weights.facts = weight_file_facts(directory);  // before reading: what is written meanwhile shall be noticed
    const bool known = how.known && how.known->facts == out.weights.facts;
    const auto dtype = models::use_precision(spec.model.dtype, device);
    const models::weights_reading reading{.quantize = models::to_block_type(spec.model.quantize),
                                          .digest = how.identify && !known,
                                          .known_good = known,
                                          .tell = how.tell};
    const bool shared = spec.model.shares() && how.team && how.team->ranks() > 1;
    auto read = shared ? load_shared(directory, described, dtype, device, reading, *how.team)
                : spec.model.shares() && how.in_passing
                    ? load_in_passing(directory, described, dtype, device, reading)
                    : models::load_weights(directory, described, dtype, device, reading);
    out.weights.digest = known && !shared ? how.known->digest : read.digest;
    if (how.identify) out.digest = privacy::sha256(digest_beside_weights(directory) + out.weights.digest);
    if (spec.model.quantize != quantization::none) described.in_blocks.type = name_of(spec.model.quantize);
    out.base = models::causal_lm::from_weights(described, std::move(read.weights));
    models::choose_threads(described);
    out.layout = choose_layout(spec, described);
    if (out.layout.trains_base()) {
        out.initial_adapter = out.base->flatten_tensors(out.layout);
        out.base = out.base->tuned(out.layout, out.initial_adapter);  // the same numbers, held once
    } else {
        out.initial_adapter = models::initial_adapter(out.layout, spec.seed).to(device);
    }
    return out;
}

namespace {

void check_loss(const at::Tensor& losses, const std::string& path) {
    if (!std::isfinite(losses.item<double>()))
        refuse(path + ": the model's loss is not finite; its weights are damaged, bring back the original files");
}

void check_tensor_gradients(const run_model& model, const std::vector<models::unit_records>& unit,
                            const std::string& path) {
    const auto made = models::compute_tensor_gradients(*model.base, model.layout, model.initial_adapter, unit, {0}, {});
    check_loss(made.losses, path);
    const auto& tensors = model.layout.tensors;
    std::vector<double> squares(tensors.size());
    made.gradients.each({true}, [&](std::int64_t, std::int64_t offset, const at::Tensor& numbers) {
        const auto after = std::upper_bound(tensors.begin(), tensors.end(), offset,
                                            [](auto at, const auto& tensor) { return at < tensor.offset; });
        squares[static_cast<std::size_t>(after - tensors.begin() - 1)] +=
            numbers.to(at::kDouble).square().sum().item<double>();
    });
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!(std::isfinite(squares[i]) && squares[i] > 0))
            refuse(fmt::format(
                "{}: {} gets a gradient of norm {}; the weights are damaged, or train.parameters should leave it out",
                path, tensors[i].name, std::sqrt(squares[i])));
}

}  // namespace

void check_gradients(const run_model& model, const std::string& path) {
    const auto& described = model.base->config();
    constexpr std::int64_t longest = 16;
    models::sequence tokens;
    for (std::int64_t i = 0; i < std::min(longest, described.window); ++i)
        tokens.push_back(static_cast<std::int32_t>((i * 7919 + 1) % described.vocab));
    const std::vector<models::unit_records> unit = {{tokens}};
    if (model.layout.trains_base()) return check_tensor_gradients(model, unit, path);
    const auto made = models::unit_gradients(*model.base, model.layout, model.initial_adapter, unit, {0}, {});
    check_loss(made.losses, path);
    std::int64_t offset = 0;
    for (const auto& pair : model.layout.pairs) {
        const auto norm = made.gradients[0].slice(0, offset, offset + pair.size).norm().item<double>();
        if (!(std::isfinite(norm) && norm > 0))
            refuse(fmt::format(
                "{}: the adapter on {} gets a gradient of norm {}; the weights are damaged, or lora.targets should "
                "leave it out",
                path, pair.module, norm));
        offset += pair.size;
    }
}

}  // namespace rldp::actors

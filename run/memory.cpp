#include "run/memory.hpp"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/system.hpp"
#include "config/methods.hpp"
#include "data/units/load_tokens.hpp"
#include "models/architecture/family.hpp"
#include "models/device.hpp"
#include "models/functions.hpp"
#include "models/weights.hpp"
#include "run/cached_corpus.hpp"
#include "run/plan.hpp"

namespace rldp::actors {

namespace {

/// Of the memory that is there, what a run may take by choices of ours.
constexpr double share_of_room = 0.75;

/// Numbers per token, of one layer.
struct layer_numbers {
    double kept = 0;     ///< for the backward pass, without scores of attention
    double passing = 0;  ///< that come and go while it is computed, at the most
};

/// Per number: what an optimizer keeps and works with, and adamw does not.
double count_bytes_beside_adamw(optimizer_kind kind) {
    switch (kind) {
        case optimizer_kind::adamw:
            return 0;
        case optimizer_kind::dog:
            return 8;
        case optimizer_kind::mechanic:
            return 20;
        case optimizer_kind::hypergradient:
            return 28;
        case optimizer_kind::prodigy:
            return 44;
    }
    bug("an optimizer of unknown size");
}

/// The roles of the modules that an adapter leads to.
std::set<std::string> adapted_roles(const models::model_config& model, const models::lora_layout& layout) {
    std::set<std::string> named, roles;
    for (const auto& pair : layout.pairs) named.insert(pair.module);
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : models::block_modules(model, layer))
            if (named.contains(module.name) || (!module.inside.empty() && named.contains(module.inside)))
                roles.insert(module.role);
    return roles;
}

/// Attention on the processor that keeps no scores: narrow heads', and LibTorch 2's own.
bool keeps_scores(const config::reading_spec& spec, const models::model_config& model) {
    if (model.attention_cap) return true;
    const bool narrow = spec.model.dtype != precision::bfloat16 && model.head_dim % 8 == 0 && model.head_dim <= 32;
    return !narrow && TORCH_VERSION_MAJOR < 2;
}

/// Per token of a record of `length` the scores that a layer keeps, on average over the layers: of a query's keys from
/// the begin of its block's window to the end of its block.
double kept_scores(const models::model_config& model, double length) {
    double keys = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
        const auto window = model.find_window(layer);
        const double before = window ? std::min(length / 2, static_cast<double>(*window)) : length / 2;
        keys += before + models::queries_at_a_time / 2;
    }
    const double copies = model.attention_cap ? 2 : 1;
    return copies * static_cast<double>(model.heads) * keys / static_cast<double>(model.layers);
}

/// As models/families.cpp and models/lora/adaptation.cpp keep them: the inputs of norms, of adapters (with dropout a
/// mask of bytes for each), of attention and of the MLP's products.
layer_numbers count_numbers(const config::reading_spec& spec, const models::model_config& model,
                            const std::set<std::string>& adapted) {
    const bool gpt2 = model.model_type == "gpt2";
    const double bytes = spec.model.dtype == precision::bfloat16 ? 2 : 4;
    const auto width = static_cast<double>(model.width), inner = static_cast<double>(model.inner);
    const auto queries = static_cast<double>(model.heads * model.head_dim),
               keys = static_cast<double>(model.kv_heads * model.head_dim);
    const auto inputs = [&](std::initializer_list<const char*> roles, double size) {
        const auto count = static_cast<double>(
            std::count_if(roles.begin(), roles.end(), [&](const char* role) { return adapted.contains(role); }));
        return std::min(count, 1.0) * size + (spec.lora.dropout > 0 ? count * size / bytes : 0);
    };
    double kept = 2 * width;         // what the two norms saw
    kept += 2 * queries + 2 * keys;  // attention: its three inputs and its result, or copies of them
    kept += inputs({"q", "k", "v"}, width) + inputs({"o"}, queries);
    kept += (gpt2 ? 1 : 3) * inner + inputs({"gate", "up", "fc"}, width) + inputs({"down", "proj"}, inner);
    if (!gpt2) {
        const auto& family = models::require_family(model.model_type);
        if (family.outer_norms) kept += 2 * width;
        if (family.head_norms) kept += queries + keys;
    }
    return {kept, 4 * width + (gpt2 ? 3 : 4) * inner};
}

/// Bytes of the largest tile of a base in blocks: in float32, and once more in the products' type.
std::int64_t largest_tile(const models::model_config& model, double number_bytes) {
    std::int64_t most = 0;
    for (const auto& [name, shape] : models::base_tensors(model))
        if (shape.size() == 2) most = std::max(most, models::count_tile_bytes(shape[0], shape[1]));
    return most + (number_bytes == 2 ? most / 2 : 0);
}

/// Where each rank holds all of the base.
lanes choose_free_lanes(const config::reading_spec& spec, const models::model_config& model,
                        std::int64_t expected_batch_size, std::int64_t micro_batch) {
    const int all = models::default_threads();
    if (!spec.on_cpu()) return {1, all, micro_batch};
    const auto each = [&](std::int64_t abreast) {
        return lanes{static_cast<int>(abreast), 1, std::max<std::int64_t>(1, micro_batch / abreast)};
    };
    if (models::is_narrow(model)) return each(std::min<std::int64_t>(all, expected_batch_size));
    // What is kept of a whole tensor's unit is too much to be there several times.
    const bool many = std::min(expected_batch_size, micro_batch) >= all && !spec.trains_base();
    return many ? each(all) : lanes{1, all, micro_batch};
}

/// On rank 0, which holds most: its share of the layers, and two that are borrowed for a step and two for an evaluation
/// beside it.
std::int64_t count_layers_held(const models::model_config& model, std::int64_t ranks) {
    constexpr std::int64_t borrowed = 4;
    return std::min(model.layers, (model.layers + ranks - 1) / ranks + borrowed);
}

std::int64_t count_shared_bytes(const models::model_config& model, std::int64_t all, std::int64_t of_layer,
                                std::int64_t ranks) {
    return all - of_layer * (model.layers - count_layers_held(model, ranks));
}

}  // namespace

lanes choose_lanes(const config::reading_spec& spec, const models::model_config& model,
                   std::int64_t expected_batch_size, std::int64_t micro_batch) {
    auto out = choose_free_lanes(spec, model, expected_batch_size, micro_batch);
    if (!spec.model.shares()) return out;
    // Passes side by side would each hold and borrow layers of their own.
    if (!models::is_narrow(model)) out.threads *= out.abreast;
    out.abreast = 1;
    return out;
}

memory_need estimate_memory(const config::reading_spec& spec, const models::model_config& model,
                            const models::lora_layout& layout, const workload& work) {
    const auto layers = static_cast<double>(model.layers), width = static_cast<double>(model.width);
    const double bytes = spec.model.dtype == precision::bfloat16 ? 2 : 4;
    const auto most = static_cast<double>(work.max_tokens);
    const auto lanes = choose_lanes(spec, model, work.expected_batch_size, work.micro_batch);
    // Apart, a pass holds records of one unit.
    const auto of_unit = spec.records_per_unit;
    const auto together =
        static_cast<double>(computes_apart(spec) ? std::min(lanes.micro_batch, of_unit) : lanes.micro_batch);
    // Of whole tensors all records of a unit go through one pass.
    const bool whole = layout.trains_base();
    const double tokens = (whole ? std::max(together, static_cast<double>(of_unit)) : together) * most;
    const double abreast = lanes.abreast;
    memory_need out;

    constexpr double program = 190 << 20;
    out.program = std::llround(program);

    const auto quantize = models::to_block_type(spec.model.quantize);
    out.weights = models::count_weight_bytes(model, std::llround(bytes), quantize);
    if (spec.model.shares())
        out.weights =
            count_shared_bytes(model, out.weights, models::count_layer_bytes(model, std::llround(bytes), quantize),
                               work.ranks == 0 ? model.layers : work.ranks);
    // Of a base in blocks each chunk that is computed reads a tile.
    if (quantize || model.in_blocks.numbers > 0) out.weights += lanes.abreast * largest_tile(model, bytes);

    const auto numbers = count_numbers(spec, model, adapted_roles(model, layout));
    const bool scored = keeps_scores(spec, model);
    const double layer = numbers.kept + (scored ? kept_scores(model, most) : 0);
    const double kept = spec.model.checkpoint_activations ? layer + layers * width : layers * layer;
    // Tensors of several sizes from two threads leave gaps between them: measured (research/performance.md).
    constexpr double with_gaps = 1.25;
    // Of whole tensors what is kept of a chunk goes to the sanitizer (step_gradients waits for it).
    const double chunks = whole && abreast > 1 ? abreast + 1 : abreast;
    out.activations = std::llround(with_gaps * chunks * bytes * tokens * (kept + 3 * width));

    // Logits: models/head.cpp; for them in training and in evaluation, which has batches of micro_batch records.
    const auto vocabulary = static_cast<double>(model.vocab);
    const auto logits = [&](double rows) {
        return vocabulary * std::min(rows, std::max(std::exp2(24) / vocabulary, 256.0)) * (bytes == 2 ? 6 : 4);
    };
    // Where scores come and go, a block of queries has them at a time.
    const double block = scored ? static_cast<double>(model.heads * models::queries_at_a_time) : 0;
    // Both count: the heap keeps what a layer has freed, and logits, which are large, are a mapping of their own.
    const auto passing = [&](double rows) { return logits(rows) + bytes * rows * (numbers.passing + block); };
    const double evaluated = static_cast<double>(work.micro_batch) * most;
    out.passing = std::llround(abreast * passing(tokens) + passing(evaluated));

    // Unit gradients of the chunks under way; and per number the adapter and its copies, AdamW, sum, noise, release.
    // Of whole tensors there are no rows of unit gradients, but the gradients of every module's outputs, of the logits
    // too where the head is trained (docs/privacy.md §12).
    // Noise of whole tensors is drawn in pieces, their sums become numbers where they lie, and AdamW makes new
    // parameters only.
    const double beside = (whole ? 24 : 72) + work.course_bytes;
    const double rows = whole ? 0 : 4 * (abreast + 1) * together;
    out.adapter = std::llround(static_cast<double>(layout.dimension) * (rows + beside));
    if (whole) {
        const bool head = std::any_of(layout.tensors.begin(), layout.tensors.end(), [&](const auto& tensor) {
            return tensor.size == model.vocab * model.width;  // the head, or a table of its size that may be tied to it
        });
        const double upstream = layers * (6 * width + 2 * static_cast<double>(model.inner));
        out.activations += std::llround(chunks * bytes * tokens * (upstream + (head ? vocabulary : 0)));
    }
    constexpr double per_unit = 64;
    // Held-out units are kept as tokens (4 bytes each) and as text (some 5).
    constexpr double per_token = 4, with_text = 9;
    const double held_out =
        std::min(data::expected_held_out({}, work.population), static_cast<double>(spec.eval_records));
    const auto records = static_cast<double>(work.population * of_unit);
    out.records = std::llround(per_unit * records + (keeps_nothing(spec.data) ? per_token * records * most : 0) +
                               with_text * held_out * static_cast<double>(of_unit) * most);
    return out;
}

double count_course_bytes(const config::run_config& config) {
    const auto choices = config::resolve_choices(config);
    const auto bands = static_cast<double>(config.noise.bands.value_or(1) - 1);
    double out = count_bytes_beside_adamw(config.train.optimizer) + 8 * bands;  // noise of earlier steps
    out += 8.0 * config::find_method(config).vectors + 32 * static_cast<double>(choices.rank);
    // A prepared policy watches two sums of releases, two adapters and, in bands, releases of earlier steps.
    if (choices.prepared) out += 32 + 8 * bands;
    return out + (choices.prepared || config.train.average != averaging::none ? 16 : 0);
}

std::optional<std::int64_t> find_least_ranks(const config::reading_spec& spec, const models::model_config& model,
                                             const models::lora_layout& layout, workload work) {
    const auto most = share_of_room * static_cast<double>(find_room(spec).bytes);
    for (work.ranks = 1; work.ranks <= model.layers; ++work.ranks)
        if (static_cast<double>(estimate_memory(spec, model, layout, work).total()) <= most) return work.ranks;
    return std::nullopt;
}

workload least_work(const config::reading_spec& spec, const models::model_config& model) {
    return {.expected_batch_size = 1, .max_tokens = token_limit(spec, model), .micro_batch = 1};
}

bool shares_well(const models::model_config& model, std::int64_t ranks) {
    return ranks <= model.layers && count_layers_held(model, ranks) < model.layers;
}

bool holds_whole_base(config::reading_spec spec, const models::model_config& model, std::int64_t ranks_here,
                      bool as_stored) {
    spec.model.shard = false;
    const auto need = estimate_memory(spec, model, choose_layout(spec, model), least_work(spec, model));
    // Ranks of one machine map the same file; what is made of its numbers each has to itself.
    const bool mapped = as_stored && spec.on_cpu() && spec.model.quantize == quantization::none;
    const auto own = static_cast<double>(need.total() - (mapped ? need.weights : 0));
    const auto all =
        (mapped ? static_cast<double>(need.weights) : 0) + own * static_cast<double>(spec.on_cpu() ? ranks_here : 1);
    return all <= share_of_room * static_cast<double>(find_room(spec).bytes);
}

memory_room find_room(const config::reading_spec& spec) {
    const auto card = models::find_card(resolve_device(spec), "device");
    return card ? memory_room{card->all, "the CUDA device"} : memory_room{memory_there(), "this machine"};
}

models::lora_layout make_adapters(const config::reading_spec& spec, const models::model_config& model,
                                  const std::vector<std::string>& targets) {
    return models::make_layout(model, {.rank = spec.lora.rank,
                                       .alpha = spec.lora.alpha,
                                       .dropout = spec.lora.dropout,
                                       .targets = models::expand_targets(model, targets)});
}

targets_choice choose_targets(const config::reading_spec& spec, const models::model_config& model) {
    const auto least = least_work(spec, model);
    const auto room = find_room(spec);
    const std::vector<std::string> all{"all-linear"};
    const auto need = estimate_memory(spec, model, make_adapters(spec, model, all), least).total();
    if (static_cast<double>(need) <= share_of_room * static_cast<double>(room.bytes))
        return {all, "every linear module: worth more than any method where it was measured (docs/choosing.md)"};
    return {{"q", "v"},
            fmt::format("with every linear module a quarter of {}'s memory would not stay free", room.owner)};
}

micro_batch_choice choose_micro_batch(const config::reading_spec& spec, const models::model_config& model,
                                      const models::lora_layout& layout, workload work) {
    const auto most = std::max<std::int64_t>(16, models::default_threads());
    const auto room = find_room(spec);
    const double most_bytes = share_of_room * static_cast<double>(room.bytes);
    const auto fits = [&](std::int64_t count) {
        work.micro_batch = count;
        return static_cast<double>(estimate_memory(spec, model, layout, work).total()) <= most_bytes;
    };
    std::int64_t count = most;
    while (count > 1 && !fits(count)) count /= 2;
    return {count, count == most ? "more would hardly be faster"
                                 : fmt::format("the most with which a quarter of {}'s memory stays free", room.owner)};
}

}  // namespace rldp::actors

#include "models/causal_lm.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "models/families.hpp"
#include "models/forward_pass.hpp"
#include "models/functions.hpp"
#include "models/head.hpp"
#include "models/kernels/products.hpp"
#include "models/marked_token.hpp"
#include "models/weights.hpp"
#include "models/whole/backward_cache.hpp"

namespace rldp::models {

namespace {

adaptation adapted(const lora_layout* layout, const at::Tensor* adapter, const at::TensorOptions& options) {
    if (!layout || !adapter) return {};
    require(adapter->dim() == 1 && adapter->size(0) == layout->dimension, "an adapter of another layout's size");
    return {*layout, adapter->to(options)};
}

void check_batch(const token_batch& batch) {
    require(batch.ids.dim() == 2 && batch.ids.sizes() == batch.labels.sizes(), "ids and labels are not both [b, T]");
}

/// Of positions that predict, from something [b, T] of each label: [M], on the CPU.
at::Tensor of_predicted(const at::Tensor& labelled, const token_batch& batch) {
    const auto labels = batch.labels.narrow(1, 1, batch.labels.size(1) - 1).ne(-100);
    return labelled.narrow(1, 1, labelled.size(1) - 1).masked_select(labels);
}

/// float64 [M] on the device: a label's share of its record's mean; records without any weight nothing.
at::Tensor compute_shares(const predicted_positions& where, const token_batch& batch) {
    const auto there = [&](const at::Tensor& shares) { return shares.to(where.rows.device(), /*non_blocking=*/true); };
    if (!batch.weights.defined())
        return there(where.tokens.clamp_min(1).to(at::kDouble).reciprocal().index_select(0, where.record));
    const auto weights = of_predicted(batch.weights, batch).to(at::kDouble);
    const auto sums = at::zeros({batch.ids.size(0)}, weights.options()).index_add_(0, where.record, weights);
    return there(at::where(weights > 0, weights / sums.index_select(0, where.record), at::zeros_like(weights)));
}

/// [b], sums over each record's positions of values [M].
at::Tensor record_sums(const at::Tensor& values, const predicted_positions& where) {
    return spread_out(values, where).view({where.tokens.size(0), -1}).sum(1);
}

/// float64 [b], of the positions' losses and shares [M].
at::Tensor record_means(const at::Tensor& nll, const at::Tensor& shares, const predicted_positions& where) {
    // A label without a share counts as none, whatever its loss.
    return record_sums(at::where(shares > 0, nll.to(at::kDouble) * shares, at::zeros_like(shares)), where);
}

}  // namespace

token_batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences) {
    return make_batch(std::vector<token_span>(sequences.begin(), sequences.end()));
}

token_batch make_batch(std::span<const token_span> sequences, const batch_rule& how) {
    std::size_t longest = 1;
    bool any_marked = false;
    for (const auto& sequence : sequences) {
        longest = std::max(longest, sequence.size());
        any_marked = any_marked || std::any_of(sequence.begin(), sequence.end(), is_marked);
    }
    require(!how.length || static_cast<std::int64_t>(longest) <= std::max<std::int64_t>(1, *how.length),
            "a record is longer than its padded batch");
    const auto length = how.length.value_or(static_cast<std::int64_t>(longest));
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(sequences.size()), length};
    token_batch batch{at::zeros(shape, at::kLong), at::full(shape, how.length ? 0 : -100, at::kLong), {}, {}};
    const double other_weight = how.answers_only ? 0 : 1;
    if (how.length || (any_marked && how.value_weight != 1)) batch.weights = at::zeros(shape, at::kFloat);
    if (any_marked) batch.values = at::zeros(shape, at::kBool);
    // Padded batches label all, so that the work tells nothing of a record; there, weights say what counts.
    const auto context = [&](std::int32_t token) { return how.answers_only && !how.length && !is_marked(token); };
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const auto& sequence = sequences[i];
        const std::int64_t begin = static_cast<std::int64_t>(i) * length;
        std::transform(sequence.begin(), sequence.end(), batch.ids.data_ptr<std::int64_t>() + begin, unmarked);
        std::transform(sequence.begin(), sequence.end(), batch.labels.data_ptr<std::int64_t>() + begin,
                       [&](std::int32_t token) -> std::int64_t { return context(token) ? -100 : unmarked(token); });
        if (any_marked)
            std::transform(sequence.begin(), sequence.end(), batch.values.data_ptr<bool>() + begin, is_marked);
        if (batch.weights.defined())
            std::transform(sequence.begin(), sequence.end(), batch.weights.data_ptr<float>() + begin,
                           [&](std::int32_t token) {
                               return static_cast<float>(is_marked(token) ? how.value_weight : other_weight);
                           });
    }
    return batch;
}

std::shared_ptr<const causal_lm> causal_lm::load(const std::filesystem::path& directory, at::ScalarType dtype,
                                                 at::Device device, const on_loading& tell, quantization quantize) {
    const model_config config = read_model(directory);
    const weights_reading how{.quantize = to_block_type(quantize), .tell = tell};
    return make_family(config, load_weights(directory, config, dtype, device, how).weights);
}

std::shared_ptr<const causal_lm> causal_lm::from_weights(const model_config& config,
                                                         std::map<std::string, at::Tensor> numbers) {
    return from_weights(config, base_weights{std::move(numbers)});
}

std::shared_ptr<const causal_lm> causal_lm::from_weights(const model_config& config, base_weights weights) {
    const auto modules = list_module_weights(config);
    for (const auto& [name, shape] : base_tensors(config)) {
        const auto numbers = weights.numbers.find(name);
        const auto blocks = weights.blocks.find(name);
        std::vector<std::int64_t> found;
        if (numbers != weights.numbers.end())
            found = numbers->second.sizes().vec();
        else if (blocks == weights.blocks.end() && weights.elsewhere && modules.contains(name))
            continue;
        else if (blocks == weights.blocks.end())
            refuse(fmt::format("{} weights: tensor '{}' is missing", config.model_type, name));
        else if (config.model_type == "gpt2" && modules.contains(name))
            found = {blocks->second.columns(), blocks->second.rows()};  // a Conv1D's matrix in blocks is [out, in]
        else
            found = {blocks->second.rows(), blocks->second.columns()};
        if (found != shape) refuse(fmt::format("{} weights: tensor '{}' has a wrong shape", config.model_type, name));
    }
    return make_family(config, std::move(weights));
}

weight_matrix base_weights::find_matrix(const std::string& name) const {
    const auto found = blocks.find(name);
    return found == blocks.end() ? weight_matrix(numbers.at(name)) : found->second;
}

causal_lm::causal_lm(model_config config, base_weights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {}

std::int64_t causal_lm::parameters() const {
    std::int64_t count = 0;
    for (const auto& [name, shape] : base_tensors(config_))
        count += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    return count;
}

rotation causal_lm::rotations_at(const at::Tensor&, bool) const {
    return {};
}

weight_matrix causal_lm::head() const {
    if (!config_.tied_head) return weights_.find_matrix("lm_head.weight");
    return weights_.find_matrix(config_.model_type == "gpt2" ? "transformer.wte.weight" : "model.embed_tokens.weight");
}

// Of hidden states after the final norm, [N, width].
at::Tensor causal_lm::compute_logits(const at::Tensor& normed) const {
    return soft_cap(head().apply(normed), config_.final_cap);
}

std::shared_ptr<void> causal_lm::begin_pass() const {
    return weights_.elsewhere ? weights_.elsewhere->begin_pass() : nullptr;
}

at::TensorOptions causal_lm::options() const {
    return head().options();
}

at::Tensor causal_lm::on_device(const at::Tensor& ids) const {
    require(ids.dim() == 2 && ids.numel() > 0, "ids are not [b, T], or empty");
    if (ids.size(1) > config_.window)
        refuse(fmt::format("a sequence of {} tokens is longer than the model's window of {}", ids.size(1),
                           config_.window));
    // A token of another vocabulary would read outside the embedding; on the device the check would wait for it.
    if (ids.is_cpu() && (ids.min().item<std::int64_t>() < 0 || ids.max().item<std::int64_t>() >= config_.vocab))
        refuse(fmt::format("a token id is outside the model's vocabulary of {}", config_.vocab));
    return ids.to(options().device(), /*non_blocking=*/true);
}

layer_kind causal_lm::make_layer_kind(bool sliding, const at::Tensor& positions, std::int64_t length) const {
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
        if (config_.slides(layer) != sliding) continue;
        const auto rule = make_attention_rule(config_, layer);
        return {rule, needs_mask(rule, length) ? causal_mask(length, rule.window, options()) : at::Tensor(),
                rotations_at(positions, sliding)};
    }
    return {};
}

// Hidden states after the last block, before the final norm.
at::Tensor causal_lm::hidden(const at::Tensor& ids, const adaptation& adapter, std::vector<at::Tensor>* states,
                             attention_memory* memory, activations between) const {
    const std::int64_t length = ids.size(1);
    const auto positions = memory && memory->has_prompts() ? memory->next_positions() : at::arange(length, at::kLong);
    const auto pass = std::make_shared<const forward_pass>(
        forward_pass{config_, ids.size(0), length, adapter, make_layer_kind(false, positions, length),
                     make_layer_kind(true, positions, length), memory});
    const auto& source = weights_.elsewhere;
    at::Tensor x = embed(ids, positions);
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
        if (source) source->come_to(layer, adapter.is_recorded() ? heading::up : heading::around);
        if (states) states->push_back(x.view({ids.size(0), length, -1}));
        const auto next = [this, layer = static_cast<std::size_t>(layer), pass](const at::Tensor& in) {
            return block(layer, in, *pass);
        };
        // Nothing leads back through the layers below the first adapter; of its own layer all is kept.
        x = between == activations::recomputed && x.requires_grad() ? recomputed(next, x) : next(x);
    }
    return x;
}

at::Tensor causal_lm::logits(const at::Tensor& ids, const lora_layout* layout, const at::Tensor* adapter) const {
    if (const auto model = stood_for(layout, adapter)) return model->logits(ids, nullptr, nullptr);
    const auto pass = begin_pass();
    const auto tokens = on_device(ids);
    const auto x = final_norm(hidden(tokens, adapted(layout, adapter, options())));
    return compute_logits(x).view({ids.size(0), ids.size(1), config_.vocab});
}

at::Tensor causal_lm::extend(attention_memory& memory, const at::Tensor& ids, const lora_layout* layout,
                             const at::Tensor* adapter) const {
    if (const auto model = stood_for(layout, adapter)) return model->extend(memory, ids, nullptr, nullptr);
    const at::NoGradGuard no_grad;
    const auto pass = begin_pass();
    const bool prompts = !memory.has_prompts();
    const auto tokens = on_device(ids);
    require(ids.size(0) == (prompts ? memory.prompts() : memory.rows()) && (prompts || ids.size(1) == 1),
            "ids to read do not match the memory's rows");
    auto x = hidden(tokens, adapted(layout, adapter, options()), nullptr, &memory);
    memory.advance();
    // What follows a prompt's last token is the same for all its samples.
    const auto last = at::tensor(memory.prompt_lengths(), at::kLong) + at::arange(memory.prompts()) * ids.size(1) - 1;
    if (prompts) x = x.index_select(0, last.to(x.device()));
    const auto logits = compute_logits(final_norm(x)).to(at::kFloat);
    return prompts ? logits.repeat_interleave(memory.samples(), 0) : logits;
}

std::vector<at::Tensor> causal_lm::hidden_states(const at::Tensor& ids, const lora_layout* layout,
                                                 const at::Tensor* adapter) const {
    if (const auto model = stood_for(layout, adapter)) return model->hidden_states(ids, nullptr, nullptr);
    const at::NoGradGuard no_grad;
    const auto pass = begin_pass();
    std::vector<at::Tensor> states;
    const auto tokens = on_device(ids);
    const auto x = final_norm(hidden(tokens, adapted(layout, adapter, options()), &states));
    states.push_back(x.view({ids.size(0), ids.size(1), config_.width}));
    return states;
}

sequence_loss causal_lm::losses(const token_batch& batch, const lora_layout* layout, const at::Tensor* adapter) const {
    if (const auto model = stood_for(layout, adapter)) return model->losses(batch, nullptr, nullptr);
    const at::NoGradGuard no_grad;
    check_batch(batch);
    const auto pass = begin_pass();
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels, ids.device());
    const auto x = take_rows(hidden(ids, adapted(layout, adapter, options())), where);
    const auto nll = head_losses(final_norm(x), head(), config_.final_cap, where.targets, {}).nll.to(at::kDouble);
    const auto values = batch.values.defined()
                            ? nll * of_predicted(batch.values, batch).to(nll.device(), /*non_blocking=*/true)
                            : at::zeros_like(nll);
    return {record_sums(nll, where), where.tokens, record_sums(values, where)};
}

record_gradients causal_lm::backward(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                                     const dropout_source& dropout, bool per_record, activations between) const {
    require(!layout.trains_base(), "gradients of whole tensors are not held by row");
    check_batch(batch);
    const at::AutoGradMode recording(true);
    const auto pass = begin_pass();
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels, ids.device());
    const auto flat = adapter.detach().to(options());
    const std::int64_t records = ids.size(0), count = where.rows.size(0);
    const auto floats = options().dtype(at::kFloat);
    gradient_sink sink{at::zeros({per_record ? records : 1, layout.dimension}, floats),
                       at::zeros({0}, floats).requires_grad_(), 0};
    if (count == 0) return {sink.gradients, at::zeros({records}, options().dtype(at::kDouble))};

    const adaptation adapted_model(layout, flat, &sink, dropout);
    const auto x = final_norm(take_rows(hidden(ids, adapted_model, nullptr, nullptr, between), where));
    const auto weights = compute_shares(where, batch);
    const auto parts = head_losses(x.detach(), head(), config_.final_cap, where.targets, weights.to(at::kFloat));
    torch::autograd::backward({x}, {parts.d_hidden});
    require(sink.written == layout.pairs.size(), "an adapter got no gradient");
    return {sink.gradients, record_means(parts.nll, weights, where)};
}

at::Tensor causal_lm::record_losses(const token_batch& batch, const lora_layout& layout,
                                    const at::Tensor& adapter) const {
    if (const auto model = stood_for(&layout, &adapter)) return model->record_losses_with(batch, {});
    return record_losses_with(batch, adapted(&layout, &adapter, options()));
}

at::Tensor causal_lm::record_losses_with(const token_batch& batch, const adaptation& adapter) const {
    const at::NoGradGuard no_grad;
    check_batch(batch);
    const auto pass = begin_pass();
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels, ids.device());
    if (where.rows.size(0) == 0) return at::zeros({ids.size(0)}, options().dtype(at::kDouble));
    const auto x = final_norm(take_rows(hidden(ids, adapter), where));
    const auto nll = head_losses(x, head(), config_.final_cap, where.targets, {}).nll;
    return record_means(nll, compute_shares(where, batch), where);
}

record_gradients causal_lm::gradients(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                                      const dropout_source& dropout, activations between) const {
    return backward(batch, layout, adapter, dropout, true, between);
}

record_gradients causal_lm::summed_gradient(const token_batch& batch, const lora_layout& layout,
                                            const at::Tensor& adapter, const dropout_source& dropout) const {
    return backward(batch, layout, adapter, dropout, false, activations::kept);
}

at::Tensor causal_lm::flatten_tensors(const lora_layout& layout) const {
    return models::flatten_tensors(layout.tensors, weights_.numbers);
}

std::shared_ptr<causal_lm> causal_lm::with_tensors(const lora_layout& layout, const at::Tensor& flat) const {
    require(flat.dim() == 1 && flat.size(0) == layout.dimension, "numbers of another layout's size");
    auto weights = weights_;
    const auto numbers = flat.to(options());
    for (const auto& tensor : layout.tensors) weights.numbers.at(tensor.name) = view_part(numbers, tensor);
    return make_family(config_, std::move(weights));
}

std::shared_ptr<const causal_lm> causal_lm::tuned(const lora_layout& layout, const at::Tensor& flat) const {
    return with_tensors(layout, flat);
}

std::shared_ptr<const causal_lm> causal_lm::stood_for(const lora_layout* layout, const at::Tensor* adapter) const {
    return layout && adapter && layout->trains_base() ? tuned(*layout, *adapter) : nullptr;
}

tensor_gradients causal_lm::gradients_of_units(const token_batch& batch, const lora_layout& layout,
                                               const at::Tensor& flat, const std::vector<std::int64_t>& first_record,
                                               const std::vector<double>& shares) const {
    check_batch(batch);
    const auto records = batch.ids.size(0);
    require(first_record.front() == 0 && first_record.back() == records && std::ssize(shares) == records,
            "records that are no unit's");
    require(options().dtype() == at::kFloat, "whole tensors are trained in float32");
    const at::AutoGradMode recording(true);
    const auto model = with_tensors(layout, flat.detach());
    std::vector<at::Tensor> trained;
    for (const auto& tensor : layout.tensors) trained.push_back(model->weights_.numbers.at(tensor.name));
    backward_cache cache(trained, {first_record, batch.ids.size(1)});
    model->backward_cache_ = &cache;

    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels, ids.device());
    const auto units = std::ssize(first_record) - 1;
    if (where.rows.size(0) == 0)
        return {factored_gradients(layout.tensors, cache.pages(), units),
                at::zeros({records}, options().dtype(at::kDouble))};
    cache.set_predictions(where.tokens);
    const auto x = model->final_norm(take_rows(model->hidden(ids, adaptation(&cache)), where));
    const auto means = compute_shares(where, batch);
    const auto of_record = at::tensor(shares, at::kDouble).index_select(0, where.record).to(ids.device());
    const auto head_index = cache.find_index(model->head().numbers());
    const auto parts = head_losses(x.detach(), model->head(), config_.final_cap, where.targets,
                                   (means * of_record).to(at::kFloat), head_index.has_value());
    if (head_index) cache.add_product(*head_index, parts.d_logits, x.detach());
    if (x.requires_grad()) torch::autograd::backward({x}, {parts.d_hidden});
    return {factored_gradients(layout.tensors, cache.pages(), units), record_means(parts.nll, means, where)};
}

at::Tensor causal_lm::training_loss(const token_batch& batch) const {
    check_batch(batch);
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels, ids.device());
    const auto x = final_norm(take_rows(hidden(ids, {}), where));
    return at::cross_entropy_loss(compute_logits(x), where.targets);
}

}  // namespace rldp::models

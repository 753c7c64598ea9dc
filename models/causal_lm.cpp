#include "models/causal_lm.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "config/base/require.hpp"
#include "models/architecture/modules.hpp"
#include "models/families.hpp"
#include "models/forward_pass.hpp"
#include "models/head.hpp"
#include "models/torch_compat.hpp"
#include "models/weights.hpp"

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

/// float64 [M]: the loss of a record is the mean over its tokens that count; records without any weigh nothing.
at::Tensor weights_of(const predicted_positions& where, const token_batch& batch) {
    const auto shares = [&](const at::Tensor& tokens) {
        return tokens.clamp_min(1).to(at::kDouble).reciprocal().index_select(0, where.record);
    };
    if (!batch.counts.defined()) return shares(where.tokens);
    const auto counts = batch.counts.narrow(1, 1, batch.counts.size(1) - 1).to(where.rows.device());
    return shares(counts.sum(1)) * counts.reshape({-1}).to(at::kDouble);
}

}  // namespace

token_batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences) {
    return make_batch(std::vector<token_span>(sequences.begin(), sequences.end()));
}

token_batch make_batch(std::span<const token_span> sequences) {
    std::size_t longest = 1;
    for (const auto& sequence : sequences) longest = std::max(longest, sequence.size());
    const auto shape = {static_cast<std::int64_t>(sequences.size()), static_cast<std::int64_t>(longest)};
    token_batch batch{at::zeros(shape, at::kLong), at::full(shape, -100, at::kLong), {}};
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const std::size_t begin = i * longest;
        std::copy(sequences[i].begin(), sequences[i].end(), batch.ids.data_ptr<std::int64_t>() + begin);
        std::copy(sequences[i].begin(), sequences[i].end(), batch.labels.data_ptr<std::int64_t>() + begin);
    }
    return batch;
}

token_batch make_batch(std::span<const token_span> sequences, std::int64_t length) {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(sequences.size()), length};
    token_batch batch{at::zeros(shape, at::kLong), at::zeros(shape, at::kLong), at::zeros(shape, at::kBool)};
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        require(std::ssize(sequences[i]) <= length, "a record is longer than its padded batch");
        const std::int64_t begin = static_cast<std::int64_t>(i) * length;
        std::copy(sequences[i].begin(), sequences[i].end(), batch.ids.data_ptr<std::int64_t>() + begin);
        std::copy(sequences[i].begin(), sequences[i].end(), batch.labels.data_ptr<std::int64_t>() + begin);
        std::fill_n(batch.counts.data_ptr<bool>() + begin, sequences[i].size(), true);
    }
    return batch;
}

std::shared_ptr<const causal_lm> causal_lm::load(const std::filesystem::path& directory, at::ScalarType dtype,
                                                 at::Device device) {
    const model_config config = read_model_config(directory);
    return make_family(config, load_weights(directory, config, dtype, device));
}

std::shared_ptr<const causal_lm> causal_lm::from_weights(const model_config& config,
                                                         std::map<std::string, at::Tensor> weights) {
    for (const auto& [name, shape] : base_tensors(config)) {
        const auto found = weights.find(name);
        if (found == weights.end()) refuse(fmt::format("{} weights: tensor '{}' is missing", config.model_type, name));
        if (found->second.sizes() != at::IntArrayRef(shape))
            refuse(fmt::format("{} weights: tensor '{}' has a wrong shape", config.model_type, name));
    }
    return make_family(config, std::move(weights));
}

causal_lm::causal_lm(model_config config, std::map<std::string, at::Tensor> weights)
    : config_(std::move(config)), weights_(std::move(weights)) {}

std::int64_t causal_lm::parameters() const {
    std::int64_t count = 0;
    for (const auto& [name, weight] : weights_) count += weight.numel();
    return count;
}

rotation causal_lm::rotations_at(const at::Tensor&) const {
    return {};
}

const at::Tensor& causal_lm::head() const {
    if (!config_.tied_head) return weights_.at("lm_head.weight");
    return weights_.at(config_.model_type == "gpt2" ? "transformer.wte.weight" : "model.embed_tokens.weight");
}

at::TensorOptions causal_lm::options() const {
    return head().options().requires_grad(false);
}

at::Tensor causal_lm::on_device(const at::Tensor& ids) const {
    require(ids.dim() == 2 && ids.numel() > 0, "ids are not [b, T], or empty");
    if (ids.size(1) > config_.window)
        refuse(fmt::format("a sequence of {} tokens is longer than the model's window of {}", ids.size(1),
                           config_.window));
    // A token of another vocabulary would read outside the embedding; on the device the check would wait for it.
    if (ids.is_cpu() && (ids.min().item<std::int64_t>() < 0 || ids.max().item<std::int64_t>() >= config_.vocab))
        refuse(fmt::format("a token id is outside the model's vocabulary of {}", config_.vocab));
    return ids.to(head().device());
}

// Hidden states after the last block, before the final norm.
at::Tensor causal_lm::hidden(const at::Tensor& ids, const adaptation& adapter, std::vector<at::Tensor>* states,
                             attention_memory* memory) const {
    const std::int64_t length = ids.size(1);
    const auto positions = memory && memory->has_prompts() ? memory->next_positions() : at::arange(length, at::kLong);
    const bool masked = !RLDP_FUSED_ATTENTION || (config_.sliding_window && *config_.sliding_window < length);
    const forward_pass pass{ids.size(0),
                            length,
                            adapter,
                            masked ? causal_mask(length, config_.sliding_window, options()) : at::Tensor(),
                            rotations_at(positions),
                            memory};
    at::Tensor x = embed(ids, positions);
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
        if (states) states->push_back(x.view({ids.size(0), length, -1}));
        x = block(static_cast<std::size_t>(layer), x, pass);
    }
    return x;
}

at::Tensor causal_lm::logits(const at::Tensor& ids, const lora_layout* layout, const at::Tensor* adapter) const {
    const auto tokens = on_device(ids);
    const auto x = final_norm(hidden(tokens, adapted(layout, adapter, options())));
    return at::mm(x, head().t()).view({ids.size(0), ids.size(1), config_.vocab});
}

at::Tensor causal_lm::extend(attention_memory& memory, const at::Tensor& ids, const lora_layout* layout,
                             const at::Tensor* adapter) const {
    const at::NoGradGuard no_grad;
    const bool prompts = !memory.has_prompts();
    const auto tokens = on_device(ids);
    require(ids.size(0) == (prompts ? memory.prompts() : memory.rows()) && (prompts || ids.size(1) == 1),
            "ids to read do not match the memory's rows");
    auto x = hidden(tokens, adapted(layout, adapter, options()), nullptr, &memory);
    memory.advance();
    // What follows a prompt's last token is the same for all its samples.
    const auto last = at::tensor(memory.prompt_lengths(), at::kLong) + at::arange(memory.prompts()) * ids.size(1) - 1;
    if (prompts) x = x.index_select(0, last.to(x.device()));
    const auto logits = at::mm(final_norm(x), head().t()).to(at::kFloat);
    return prompts ? logits.repeat_interleave(memory.samples(), 0) : logits;
}

std::vector<at::Tensor> causal_lm::hidden_states(const at::Tensor& ids, const lora_layout* layout,
                                                 const at::Tensor* adapter) const {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> states;
    const auto tokens = on_device(ids);
    const auto x = final_norm(hidden(tokens, adapted(layout, adapter, options()), &states));
    states.push_back(x.view({ids.size(0), ids.size(1), config_.width}));
    return states;
}

sequence_loss causal_lm::losses(const token_batch& batch, const lora_layout* layout, const at::Tensor* adapter) const {
    const at::NoGradGuard no_grad;
    check_batch(batch);
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels.to(ids.device()));
    const auto x = hidden(ids, adapted(layout, adapter, options())).index_select(0, where.rows);
    const auto nll = head_losses(final_norm(x), head(), where.targets, {}).nll.to(at::kDouble);
    return {at::zeros({ids.size(0)}, nll.options()).index_add_(0, where.record, nll), where.tokens};
}

record_gradients causal_lm::backward(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                                     const dropout_source& dropout, bool per_record) const {
    check_batch(batch);
    const at::AutoGradMode recording(true);
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels.to(ids.device()));
    const auto flat = adapter.detach().to(options());
    const std::int64_t records = ids.size(0), count = where.rows.size(0);
    const auto floats = options().dtype(at::kFloat);
    gradient_sink sink{at::zeros({per_record ? records : 1, layout.dimension}, floats),
                       at::zeros({0}, floats).requires_grad_(), 0};
    auto losses = at::zeros({records}, options().dtype(at::kDouble));
    if (count == 0) return {sink.gradients, losses};

    const adaptation adapted_model(layout, flat, &sink, dropout);
    const auto x = final_norm(hidden(ids, adapted_model).index_select(0, where.rows));
    const auto weights = weights_of(where, batch);
    const auto parts = head_losses(x.detach(), head(), where.targets, weights.to(at::kFloat));
    torch::autograd::backward({x}, {parts.d_hidden});
    require(sink.written == layout.pairs.size(), "an adapter got no gradient");
    losses.index_add_(0, where.record,
                      at::where(weights > 0, parts.nll.to(at::kDouble) * weights, at::zeros_like(weights)));
    return {sink.gradients, losses};
}

record_gradients causal_lm::gradients(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                                      const dropout_source& dropout) const {
    return backward(batch, layout, adapter, dropout, true);
}

record_gradients causal_lm::summed_gradient(const token_batch& batch, const lora_layout& layout,
                                            const at::Tensor& adapter, const dropout_source& dropout) const {
    return backward(batch, layout, adapter, dropout, false);
}

at::Tensor causal_lm::training_loss(const token_batch& batch) const {
    check_batch(batch);
    const auto ids = on_device(batch.ids);
    const auto where = predicted(batch.labels.to(ids.device()));
    const auto x = final_norm(hidden(ids, {}).index_select(0, where.rows));
    return at::cross_entropy_loss(at::mm(x, head().t()), where.targets);
}

}  // namespace rldp::models

#pragma once
// Causal language models with frozen weights, an adapter given from outside, and per-unit gradients.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "base/loading.hpp"
#include "models/architecture/model_config.hpp"
#include "models/kernels/layer_source.hpp"
#include "models/kernels/weight_matrix.hpp"
#include "models/lora/layout.hpp"
#include "models/whole/factored_gradients.hpp"

namespace rldp::models {

class adaptation;
class attention_memory;
class backward_cache;
struct forward_pass;
struct layer_kind;
struct rotation;

/// A record's tokens, wherever they lie, marked_token.hpp.
using token_span = std::span<const std::int32_t>;

/// Sequences of one micro-batch, right-padded to the longest of them; on the CPU.
struct token_batch {
    at::Tensor ids;           ///< [b, T] int64
    at::Tensor labels;        ///< [b, T] int64, ids again, -100 where nothing is to be predicted (padding)
    at::Tensor weights = {};  ///< [b, T] float32, of each label in its record's mean loss; undefined where all weigh 1
    at::Tensor values = {};   ///< [b, T] bool, labels that were marked; undefined where none is
};
struct batch_rule {
    /// Pads to so many tokens, labelled but of weight 0: the work depends on the batch's shape alone. Default: to the
    /// longest, with id 0 and without labels.
    std::optional<std::int64_t> length = {};
    double value_weight = 1;    ///< of marked tokens; others weigh 1
    bool answers_only = false;  ///< only marked tokens are to be predicted, the others being what they follow from
};
token_batch make_batch(std::span<const token_span> sequences, const batch_rule& how = {});
token_batch make_batch(const std::vector<std::vector<std::int32_t>>& sequences);

struct sequence_loss {
    at::Tensor nll;        ///< [b] float64, summed negative log-likelihood, nats
    at::Tensor tokens;     ///< [b] int64 on the CPU, predicted positions
    at::Tensor value_nll;  ///< [b] float64, of marked tokens alone
};

struct record_gradients {
    at::Tensor gradients;  ///< [b, D] float32, gradient of each record's mean token loss, weighted as the batch says
    at::Tensor losses;     ///< [b] float64, that mean, nats
};

struct tensor_gradients {
    factored_gradients units;  ///< gradient of each unit's loss, below
    at::Tensor losses;         ///< [b] float64, each record's mean token loss, nats
};

/// What a forward pass leaves for the backward pass.
enum class activations {
    kept,       ///< all that it needs
    recomputed  ///< of most layers their input alone; the same numbers, for a third more time
};

/// A base's tensors by their Hugging Face names (GPT-2 with the `transformer.` prefix).
struct base_weights {
    std::map<std::string, at::Tensor> numbers;
    std::map<std::string, weight_matrix> blocks = {};  ///< those that lie in blocks: of linear modules, embedding, head
    /// Of a base that is shared: where the linear modules' matrices are that are not above.
    std::shared_ptr<layer_source> elsewhere = {};

    bool holds(const std::string& name) const { return numbers.contains(name) || blocks.contains(name); }
    weight_matrix find_matrix(const std::string& name) const;
};

/// An immutable model: safe to share between threads and replicas.
class causal_lm {
  public:
    /// Loads config.json and the safetensors (single or sharded). `dtype` float32 or bfloat16. Errors: bad_input naming
    /// file and tensor (missing, wrong shape, truncated).
    static std::shared_ptr<const causal_lm> load(const std::filesystem::path& directory, at::ScalarType dtype,
                                                 at::Device device, const on_loading& tell = {},
                                                 quantization quantize = quantization::none);
    /// Errors: bad_input naming a tensor that is missing or of another shape.
    static std::shared_ptr<const causal_lm> from_weights(const model_config& config, base_weights weights);
    static std::shared_ptr<const causal_lm> from_weights(const model_config& config,
                                                         std::map<std::string, at::Tensor> numbers);
    virtual ~causal_lm() = default;

    const model_config& config() const { return config_; }
    std::int64_t parameters() const;  ///< count of the base's numbers
    bool is_quantized() const { return !weights_.blocks.empty(); }
    /// Whether its layers are spread over several ranks (model.shard).
    bool is_shared() const { return weights_.elsewhere != nullptr; }
    const base_weights& weights() const { return weights_; }
    /// Of the vocabulary, [V, width].
    weight_matrix head() const;

    /// Logits [b, T, V] in the base's dtype; `adapter` is the flat vector [D] for `layout`, or both are null.
    /// Differentiable in the adapter, where it asks for it, by autograd alone.
    at::Tensor logits(const at::Tensor& ids, const lora_layout* layout, const at::Tensor* adapter) const;
    /// All hidden states, embeddings first, final norm last (as HF's output_hidden_states).
    std::vector<at::Tensor> hidden_states(const at::Tensor& ids, const lora_layout* layout,
                                          const at::Tensor* adapter) const;
    /// Reads `ids` after what the memory holds: first the prompts, [prompts, T] padded on the right, then the next
    /// token of each row, [rows, 1]. Logits of the token to follow, [rows, V] float32. No gradient.
    at::Tensor extend(attention_memory& memory, const at::Tensor& ids, const lora_layout* layout,
                      const at::Tensor* adapter) const;
    /// No gradient; float32 logits of labelled positions only, in chunks.
    sequence_loss losses(const token_batch& batch, const lora_layout* layout, const at::Tensor* adapter) const;
    /// Per-record gradients with respect to the adapter in one backward pass: two batched products per pair
    /// (architecture: ∇B = s·gᵀh, ∇A = (s·gB)ᵀx).
    record_gradients gradients(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                               const dropout_source& dropout = {}, activations between = activations::kept) const;
    /// The same of tensors that are trained whole, by unit, and not multiplied out. A unit's loss is Σ shares·losses
    /// over its records, which follow each other in the batch: those of unit u are `first_record[u]` up to
    /// `first_record[u + 1]`. `shares` [b]. Only for a base in float32.
    tensor_gradients gradients_of_units(const token_batch& batch, const lora_layout& layout, const at::Tensor& flat,
                                        const std::vector<std::int64_t>& first_record,
                                        const std::vector<double>& shares) const;
    /// Of tensors that are trained whole, where they lie now: float32 [D].
    at::Tensor flatten_tensors(const lora_layout& layout) const;
    /// This model with such tensors in their place: views of `flat`, where that is of the base's type.
    std::shared_ptr<const causal_lm> tuned(const lora_layout& layout, const at::Tensor& flat) const;

    /// The losses of gradients() alone, [b] float64, without dropout. No gradient.
    at::Tensor record_losses(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter) const;
    /// What an ordinary LoRA step needs, by the same code: [1, D], the sum over records of the same gradients.
    record_gradients summed_gradient(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                                     const dropout_source& dropout = {}) const;
    /// Mean loss of the batch over all its tokens, differentiable in the base's weights: for pretraining a base.
    at::Tensor training_loss(const token_batch& batch) const;

  protected:
    causal_lm(model_config config, base_weights weights);
    /// ids [b, T] as hidden states [b·T, width]; positions are [T] or [b, T] int64 on the CPU.
    virtual at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const = 0;
    virtual at::Tensor block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const = 0;
    virtual at::Tensor final_norm(const at::Tensor& x) const = 0;
    /// Of layers that slide, or of the others; none but for rotary models.
    virtual rotation rotations_at(const at::Tensor& positions, bool sliding) const;

    model_config config_;
    base_weights weights_;
    backward_cache* backward_cache_ = nullptr;  ///< of the one pass that a model of tuned weights is made for

  private:
    std::shared_ptr<causal_lm> with_tensors(const lora_layout& layout, const at::Tensor& flat) const;
    /// The model that an adapter which holds whole tensors stands for; null for any other.
    std::shared_ptr<const causal_lm> stood_for(const lora_layout* layout, const at::Tensor* adapter) const;
    /// Of a base that is shared, to be held while a pass is under way.
    std::shared_ptr<void> begin_pass() const;
    at::TensorOptions options() const;
    at::Tensor compute_logits(const at::Tensor& normed) const;
    layer_kind make_layer_kind(bool sliding, const at::Tensor& positions, std::int64_t length) const;
    at::Tensor on_device(const at::Tensor& ids) const;
    /// Of a pass that is not recorded the others may be null or anything; else `adapter` lives until it is backwards.
    at::Tensor hidden(const at::Tensor& ids, const adaptation& adapter, std::vector<at::Tensor>* states = nullptr,
                      attention_memory* memory = nullptr, activations between = activations::kept) const;
    at::Tensor record_losses_with(const token_batch& batch, const adaptation& adapter) const;
    record_gradients backward(const token_batch& batch, const lora_layout& layout, const at::Tensor& adapter,
                              const dropout_source& dropout, bool per_record, activations between) const;
};

}  // namespace rldp::models

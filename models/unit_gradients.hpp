#pragma once
// Gradients of privacy units (a record, or all records of a group) in micro-batches of records.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/causal_lm.hpp"

namespace rldp::models {

using sequence = std::vector<std::int32_t>;
using unit_records = std::vector<token_span>;  ///< of one unit; the tokens lie elsewhere, and have to stay there

/// For units that somebody holds.
std::vector<unit_records> view_units(const std::vector<std::vector<sequence>>& units);

/// Unit indices of each chunk, longest sequences together so that little is padded; a chunk holds about `micro_batch`
/// records and always whole units. Deterministic.
std::vector<std::vector<std::size_t>> plan_chunks(std::span<const unit_records> units, std::int64_t micro_batch);

/// One shape for every unit, whatever it holds, so that the work tells nothing about it (privacy.pad_batches).
struct unit_shape {
    std::int64_t records = 1;  ///< per unit; missing ones are dummies
    std::int64_t tokens = 0;   ///< per record
};

/// Chunks of one size of the units in their order: as many chunks as units that take up `shape` need.
std::vector<std::vector<std::size_t>> plan_padded_chunks(std::size_t units, const unit_shape& shape,
                                                         std::int64_t micro_batch);

/// Dropout of a forward pass over these records; a dummy is an empty one.
using dropout_factory = std::function<dropout_source(std::span<const token_span> records)>;

struct chunk_rule {
    std::int64_t micro_batch = 1;          ///< records of a forward pass
    std::optional<unit_shape> shape = {};  ///< of every unit: then passes and their shapes depend on their number
    double value_weight = 1;               ///< of marked tokens in a record's mean loss; others weigh 1
    bool answers_only = false;             ///< others are not predicted at all; a record without any has a loss of 0
    activations between = activations::kept;
};

/// Gradient and loss, on the adapter's device, of each unit of one chunk: the mean over its records of their mean token
/// losses; zeros for a unit without records. A unit of more than `micro_batch` records takes several forward passes.
record_gradients unit_gradients(const causal_lm& model, const lora_layout& layout, const at::Tensor& adapter,
                                std::span<const unit_records> units, const std::vector<std::size_t>& chunk,
                                const chunk_rule& how, const dropout_factory& dropout = {});

/// The same of tensors that are trained whole, all records of the chunk in one pass.
struct tensor_unit_gradients {
    factored_gradients gradients;
    at::Tensor losses;  ///< [units of the chunk] float64
};
tensor_unit_gradients compute_tensor_gradients(const causal_lm& model, const lora_layout& layout,
                                               const at::Tensor& flat, std::span<const unit_records> units,
                                               const std::vector<std::size_t>& chunk, const chunk_rule& how);

/// The losses of unit_gradients() alone, [units of the chunk] float64, without dropout.
at::Tensor unit_losses(const causal_lm& model, const lora_layout& layout, const at::Tensor& adapter,
                       std::span<const unit_records> units, const std::vector<std::size_t>& chunk,
                       const chunk_rule& how);

}  // namespace rldp::models

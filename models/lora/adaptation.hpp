#pragma once
// Linear modules with their adapters, and the per-unit gradients of those adapters.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/architecture/family.hpp"
#include "models/kernels/layer_source.hpp"
#include "models/kernels/weight_matrix.hpp"
#include "models/lora/layout.hpp"

namespace rldp::models {

/// A frozen linear module: y = x·matrixᵀ + bias.
struct linear {
    linear_module module;
    weight_matrix weight;  ///< [out, in], or Conv1D's [in, out], of the module or of the one it is part of
    at::Tensor bias;       ///< [out] or undefined
    bool conv1d = false;
    std::int64_t layer = 0;
    std::shared_ptr<layer_source> source = {};  ///< of a base that is shared; where the weight is, if it is empty here

    weight_matrix matrix() const;  ///< view [d_out, d_in]
    at::Tensor offsets() const;    ///< view [d_out] of the bias, or undefined
    /// The name of what holds the matrix, among the base's tensors.
    std::string weight_name() const { return (module.inside.empty() ? module.name : module.inside) + ".weight"; }
};

/// Where per-unit gradients go during a backward pass.
struct gradient_sink {
    at::Tensor gradients;     ///< [units, D] float32
    at::Tensor anchor;        ///< makes autograd reach the adapters, which are no variables themselves
    std::size_t written = 0;  ///< pairs whose gradient has arrived
};

class backward_cache;

/// An adapter as it takes part in one forward pass; without a layout the base is used alone.
class adaptation {
  public:
    adaptation() = default;
    /// The base alone, whose trained modules leave in the cache what their gradients are made of.
    explicit adaptation(backward_cache* cache) : backward_cache_(cache) {}
    /// `flat` [D] in the base's dtype and on its device. With a sink, the output of each module leads back to it.
    adaptation(const lora_layout& layout, at::Tensor flat, gradient_sink* sink = nullptr, dropout_source dropout = {});

    /// Whether a backward pass follows, which comes to the layers again.
    bool is_recorded() const { return sink_ != nullptr || backward_cache_ != nullptr; }

    using modules = std::vector<const linear*>;
    /// Outputs of modules that share their input x [N, d_in].
    std::vector<at::Tensor> apply(const at::Tensor& x, const modules& group) const;
    /// residual + module(x).
    at::Tensor add(const at::Tensor& residual, const at::Tensor& x, const linear& module) const;

    /// One pair of LoRA matrices at work on a group: A is shared, B's rows belong to one output, or to several (fused
    /// c_attn).
    struct pair_at_work {
        std::int64_t offset;  ///< in the flat vector
        std::size_t index;
        at::Tensor a, b;              ///< [r, d_in], [d_out, r]
        std::int64_t a_size, b_size;  ///< in the flat vector
        struct piece {
            std::size_t output;
            std::int64_t first_row, rows;
        };
        std::vector<piece> pieces;
        at::Tensor kept;  ///< dropout, bool [N, d_in]; undefined without
        at::Tensor x;  ///< the group's input [N, d_in]: pairs share it, and multiply by their masks when they need to
        at::Tensor hidden;         ///< A's output times the scale, [N, r]
        at::Tensor input() const;  ///< what A saw but for the scale, [N, d_in]
    };

  private:
    friend struct adapted_function;
    std::vector<at::Tensor> run(const at::Tensor& x, const modules& group, const at::Tensor& residual) const;
    std::vector<pair_at_work> list_pairs(const modules& group) const;
    std::vector<at::Tensor> evaluate(const at::Tensor& x, const modules& group, const at::Tensor& residual,
                                     std::vector<pair_at_work>& pairs) const;
    double scaling() const;  ///< alpha/r; with dropout over 1 - p

    const lora_layout* layout_ = nullptr;
    at::Tensor flat_;
    gradient_sink* sink_ = nullptr;
    backward_cache* backward_cache_ = nullptr;
    dropout_source dropout_;
    std::unordered_map<std::string, std::size_t> index_;  // of pairs by module name
};

}  // namespace rldp::models

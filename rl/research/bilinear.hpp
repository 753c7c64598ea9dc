#pragma once
// Family B of made-up tasks: stacks of small layers, and where they come from.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "privacy/mechanism/step_order.hpp"
#include "rl/prepared/environment.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/families.hpp"

namespace rldp::rl {

// Tasks. A stack of small layers, each with an adapter of two factors, that learns to answer as another stack does.
// Units have gradients of their own, which are clipped, summed and noised with the pieces of a real run, and move the
// adapters as there; only the network is made up, and the ledger is missing, for nobody's records are read. What
// quadratics lack is here: curvature that changes on the way, two factors that multiply, rates that ruin a run.

/// A unit is a record of so many words, each an input with the class that the teacher drew for it; its loss is their
/// mean negative log-likelihood.
struct records {
    at::Tensor inputs;   ///< float32 [units, words, d]
    at::Tensor classes;  ///< int64 [units, words]
};

/// h ← (h + tanh((W + 2·B·A)·h))/√2 through n layers, then logits U·h. A [r, d] and B [d, r] of each layer lie one
/// after the other in θ, as in models/lora.
struct bilinear final : public task_plan {
    std::int64_t width = 0, rank = 0;           ///< d, r
    std::int64_t words = 0;                     ///< of a unit
    std::vector<at::Tensor> weights, teachers;  ///< [n] of float32 [d, d]: W, and what W + 2·B·A should be
    at::Tensor head;                            ///< U, float32 [classes, d]
    at::Tensor spread;                          ///< float32 [d]: deviations of the inputs' numbers
    at::Tensor start;                           ///< θ at the start, float32 [D]
    std::vector<double> radii;                  ///< [n] C
    double rate = 0;                            ///< mean rate; sums are divided by B and C

    std::unique_ptr<episode> begin(const schedule& fixed, std::uint64_t seed) const override;

    std::size_t adapters() const { return weights.size(); }
    std::vector<privacy::segment> segments() const;  ///< of θ, an adapter each
    records draw(std::int64_t units, splitmix& random) const;
    /// [units, D] per-unit gradients, and [units] losses.
    privacy::unit_gradients gradients(const at::Tensor& theta, const records& of) const;
    /// Mean over all words of the Kullback-Leibler divergence of the teacher's answer from θ's, nats.
    double excess(const at::Tensor& theta, const records& of) const;
};

// Families. Where family B's tasks come from: stacks of layers, in the corners that family A has.

struct bilinear_family {
    std::string name;  ///< its traits, as a family's of noisy quadratics
    range adapters;    ///< n
    range decline;     ///< of the inputs' deviations: j^−decline
    range way;         ///< the part of the way from W to the teacher that a warm start has gone; 0 is a cold one
};

/// All eight: few or many adapters, inputs that are flat or steep, a cold or a warm start.
std::vector<bilinear_family> bilinear_families();

/// Tasks `first`, first + 1, … of a seed, each from one of `from` in turn. The mean rate is what a user would begin
/// with, put off by a factor of up to `offset`, either way.
std::vector<bilinear> draw_tasks(std::span<const bilinear_family> from, double offset, std::uint64_t seed,
                                 std::size_t count);

}  // namespace rldp::rl
